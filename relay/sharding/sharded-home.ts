import { quotaKeyOf } from "#config/cluster.ts";
import type { ClustersFile } from "#config/clusters-file.ts";
import type { ClusterHome } from "#config/home/home.ts";
import { type Clock, systemClock } from "#kube/follow/clock.ts";
import type { Membership } from "#relay/sharding/membership.ts";
import { ownerOf } from "#relay/sharding/owner-of.ts";
import { namesIn, shardOf } from "#relay/sharding/shard-of.ts";

/** A home of which other replicas follow the rest. */
export interface ShardedHome extends ClusterHome {
  /** What of that content is this replica's now. */
  own(content: ClustersFile): ClustersFile;
  /** How many clusters are this replica's, and how many there are, as last read. */
  count(): ShardCount;
  /**
   * Which part of the quotas of an account this replica may spend, 0 to 1: as large as its part of the clusters that draw on them, so
   * that the parts of all replicas are the whole.
   */
  partOf(quotaKey: string): number;
}

export interface ShardCount {
  readonly own: number;
  readonly all: number;
}

/** A cluster that has become another replica's is kept for so long: that one may have begun just now, and has to connect and list. */
export const OVERLAP_MS = 15_000;

/**
 * The clusters of a home that are this replica's, given again whenever other replicas live. Who asks for a cluster by its name gets any:
 * what a function is sent is its own, whoever sent it.
 */
export function shardedHome(
  home: ClusterHome,
  membership: Membership,
  clock: Clock = systemClock,
): ShardedHome {
  let own: ReadonlySet<string> = new Set();
  let count: ShardCount = { own: 0, all: 0 };
  let last: ClustersFile | undefined;
  /** By quota key. */
  let drawing: ReadonlyMap<string, ShardCount> = new Map();
  /** Until when clusters that are another one's by now are kept. */
  const keptUntilMs = new Map<string, number>();

  function take(content: ClustersFile): ClustersFile {
    last = content;
    const nowMs = clock.now();
    const names = namesIn(content);
    const replicas = membership.replicas() ?? [];
    const now = new Set([...names].filter((name) => ownerOf(name, replicas) === membership.self));
    for (const name of own) if (!now.has(name)) keptUntilMs.set(name, nowMs + OVERLAP_MS);
    for (const [name, untilMs] of keptUntilMs)
      if (now.has(name) || !names.has(name) || untilMs <= nowMs) keptUntilMs.delete(name);
    own = now;
    count = { own: now.size, all: names.size };
    drawing = new Map(
      [...Map.groupBy(content.clusters, quotaKeyOf)].map(([quotaKey, all]) => [
        quotaKey,
        { own: all.filter(({ name }) => now.has(name)).length, all: all.length },
      ]),
    );
    return shardOf(content, (name) => now.has(name) || keptUntilMs.has(name));
  }

  return {
    kind: home.kind,
    name: home.name,
    byName: () => home.byName(),
    read: async (signal) => take(await home.read(signal)),
    async follow(options) {
      let cancel = (): void => {};
      function deliver(content = last): void {
        cancel();
        if (content === undefined || options.signal.aborted) return;
        options.onContent(take(content));
        const firstMs = Math.min(...keptUntilMs.values());
        if (firstMs !== Number.POSITIVE_INFINITY)
          cancel = clock.after(Math.max(0, firstMs - clock.now()), () => deliver());
      }
      const unsubscribe = membership.onChange(() => deliver());
      await home.follow({ ...options, onContent: deliver });
      unsubscribe();
      cancel();
    },
    own: take,
    count: () => count,
    partOf(quotaKey) {
      const drawn = drawing.get(quotaKey);
      // What goes on although its entry is faulty by now may be anybody's.
      if (drawn === undefined) return 1 / Math.max(1, membership.replicas()?.length ?? 1);
      return drawn.own / drawn.all;
    },
  };
}
