import { hash } from "node:crypto";
import { getQuotaKey } from "#config/cluster.ts";
import type { ClustersFile } from "#config/clusters-file.ts";
import type { ClusterRegistry } from "#config/registry/registry.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { type Clock, systemClock } from "#kube/follow/clock.ts";
import type { Membership } from "#relay/sharding/membership.ts";

/** One replica's part of a registry's clusters. */
export interface Shard extends Pick<Membership, "leave"> {
  /** Returns the registry as this replica follows it. */
  of(registry: ClusterRegistry): ShardedRegistry;
  status(): ShardStatus;
  /** Returns the part of an account's quotas that this replica may spend, from 0 to 1. */
  partOf(quotaKey: string): number;
}

/** The state of a shard; plain data. */
export interface ShardStatus extends ShardCount {
  /** The name of this replica. */
  readonly self: string;
  /** The live replicas; undefined until they are known. */
  readonly replicas: readonly string[] | undefined;
  readonly isCutOff: boolean;
}

/** Creates the shard that follows from the live replicas. */
export function createShard(membership: Membership): Shard {
  let count: () => ShardCount = () => ({ own: 0, all: 0 });
  let partOf: ShardedRegistry["partOf"] = () => 1;
  return {
    of(registry) {
      const sharded = createShardedRegistry(registry, membership);
      count = sharded.count;
      partOf = sharded.partOf;
      return sharded;
    },
    status: () => ({
      self: membership.self,
      replicas: membership.replicas(),
      isCutOff: membership.isCutOff(),
      ...count(),
    }),
    partOf: (quotaKey) => partOf(quotaKey),
    leave: () => membership.leave(),
  };
}

/** Returns whether a shard is empty because other replicas have all clusters. */
export function isAllOfOthers({ clusters, faulty }: ClustersFile, shard: Shard | undefined): boolean {
  return shard !== undefined && clusters.length + faulty.length === 0;
}

const MAX_REPLICAS_SHOWN = 20;

/** Describes the state of a shard as text. */
export function describeShard({ self, replicas, isCutOff, own, all }: ShardStatus): string {
  if (replicas === undefined) return `replica ${sanitizeText(self)}: it is not known yet which replicas live`;
  const names = replicas.slice(0, MAX_REPLICAS_SHOWN).map((name) => sanitizeText(name));
  const more = replicas.length - names.length;
  const among = names.join(", ").concat(more > 0 ? ` and ${more} more` : "");
  const off = isCutOff ? "; cut off from the others, it continues with what it has" : "";
  return `replica ${sanitizeText(self)} of ${among}: ${own} of ${all} clusters${off}`;
}

/**
 * Selects the part of a registry's content that a replica must know. An entry without a readable name belongs
 * to every replica: while it exists, no replica treats a cluster as removed, because the entry may be that
 * cluster's.
 */
function selectShard(content: ClustersFile, isOwn: (name: string) => boolean): ClustersFile {
  return {
    clusters: content.clusters.filter(({ name }) => isOwn(name)),
    faulty: content.faulty.filter(({ name }) => name === undefined || isOwn(name)),
  };
}

/** Lists the names in a registry's content, each once. */
function listClusterNames({ clusters, faulty }: ClustersFile): ReadonlySet<string> {
  return new Set([...clusters, ...faulty].flatMap(({ name }) => name ?? []));
}

/**
 * Selects the replica that follows a cluster, by rendezvous hashing; undefined without replicas.
 *
 * Replicas that know the same names get the same answer, and one replica more or less moves only its own
 * clusters. Replicas of different versions work together, so the hash and its input must never change.
 */
export function selectOwner(cluster: string, replicas: Iterable<string>): string | undefined {
  let owner: string | undefined;
  let most = "";
  for (const replica of replicas) {
    // Neither name can contain a line break.
    const weight = hash("sha256", `${replica}\n${cluster}`);
    if (owner !== undefined && weight <= most) continue;
    owner = replica;
    most = weight;
  }
  return owner;
}

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

interface ShardCount {
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
