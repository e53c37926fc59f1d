import { getQuotaKey } from "#config/cluster.ts";
import type { ClustersFile } from "#config/clusters-file.ts";
import type { ClusterRegistry } from "#config/registry/registry.ts";
import { type Clock, systemClock } from "#kube/follow/clock.ts";
import type { Membership } from "#relay/sharding/membership.ts";
import { selectOwner } from "#relay/sharding/select-owner.ts";
import { listClusterNames, selectShard } from "#relay/sharding/select-shard.ts";

/** A cluster registry whose clusters several replicas divide among themselves. */
export interface ShardedRegistry extends ClusterRegistry {
  /** Returns the part of the content that belongs to this replica now. */
  own(content: ClustersFile): ClustersFile;
  /** Returns the number of this replica's clusters and of all clusters, as last read. */
  count(): ShardCount;
  /**
   * Returns the part of an account's quotas that this replica may spend, from 0 to 1: its part of the
   * clusters that use the account. The parts of all replicas add up to the whole.
   */
  partOf(quotaKey: string): number;
}

export interface ShardCount {
  readonly own: number;
  readonly all: number;
}

/**
 * A cluster that moves to another replica is kept for this long: that replica may have just started, and must
 * connect and list.
 */
export const OVERLAP_MS = 15_000;

/**
 * Creates a registry that delivers this replica's clusters again whenever the live replicas change. A request
 * by name returns any cluster, because a function handles the cluster in its event, whichever replica sent
 * it.
 */
export function createShardedRegistry(
  registry: ClusterRegistry,
  membership: Membership,
  clock: Clock = systemClock,
): ShardedRegistry {
  let own: ReadonlySet<string> = new Set();
  let count: ShardCount = { own: 0, all: 0 };
  let last: ClustersFile | undefined;
  /** By quota key. */
  let drawing: ReadonlyMap<string, ShardCount> = new Map();
  /** Until when clusters are kept that belong to another replica now. */
  const keptUntilMs = new Map<string, number>();

  function take(content: ClustersFile): ClustersFile {
    last = content;
    const nowMs = clock.now();
    const names = listClusterNames(content);
    const replicas = membership.replicas() ?? [];
    const now = new Set([...names].filter((name) => selectOwner(name, replicas) === membership.self));
    for (const name of own) if (!now.has(name)) keptUntilMs.set(name, nowMs + OVERLAP_MS);
    for (const [name, untilMs] of keptUntilMs)
      if (now.has(name) || !names.has(name) || untilMs <= nowMs) keptUntilMs.delete(name);
    own = now;
    count = { own: now.size, all: names.size };
    drawing = new Map(
      [...Map.groupBy(content.clusters, getQuotaKey)].map(([quotaKey, all]) => [
        quotaKey,
        { own: all.filter(({ name }) => now.has(name)).length, all: all.length },
      ]),
    );
    return selectShard(content, (name) => now.has(name) || keptUntilMs.has(name));
  }

  return {
    kind: registry.kind,
    name: registry.name,
    byName: () => registry.byName(),
    read: async (signal) => take(await registry.read(signal)),
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
      await registry.follow({ ...options, onContent: deliver });
      unsubscribe();
      cancel();
    },
    own: take,
    count: () => count,
    partOf(quotaKey) {
      const drawn = drawing.get(quotaKey);
      // A cluster that is still followed although its entry is faulty now may belong to any replica.
      if (drawn === undefined) return 1 / Math.max(1, membership.replicas()?.length ?? 1);
      return drawn.own / drawn.all;
    },
  };
}
