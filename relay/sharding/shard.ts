import type { ClustersFile } from "#config/clusters-file.ts";
import type { ClusterHome } from "#config/home/home.ts";
import { shown } from "#core/shown-text.ts";
import type { Membership } from "#relay/sharding/membership.ts";
import { type ShardCount, type ShardedHome, shardedHome } from "#relay/sharding/sharded-home.ts";

/** One replica's part of the clusters of a home. */
export interface Shard extends Pick<Membership, "leave"> {
  /** The home as this replica is to follow it. */
  of(home: ClusterHome): ShardedHome;
  status(): ShardStatus;
  /** Which part of the quotas of an account this replica may spend, 0 to 1. */
  partOf(quotaKey: string): number;
}

/** How a shard stands; plain data. */
export interface ShardStatus extends ShardCount {
  /** The name of this replica. */
  readonly self: string;
  /** Those that live; undefined until that is known. */
  readonly replicas: readonly string[] | undefined;
  readonly isCutOff: boolean;
}

/** The part that follows from who lives. */
export function createShard(membership: Membership): Shard {
  let count: () => ShardCount = () => ({ own: 0, all: 0 });
  let partOf: ShardedHome["partOf"] = () => 1;
  return {
    of(home) {
      const sharded = shardedHome(home, membership);
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

/** Whether there is nothing in a shard's content because all of it is other replicas'. */
export function isAllOfOthers({ clusters, faulty }: ClustersFile, shard: Shard | undefined): boolean {
  return shard !== undefined && clusters.length + faulty.length === 0;
}

const MAX_REPLICAS_SHOWN = 20;

/** How a shard stands, in words. */
export function wordsOfShard({ self, replicas, isCutOff, own, all }: ShardStatus): string {
  if (replicas === undefined) return `replica ${shown(self)}: it is not known yet which replicas live`;
  const names = replicas.slice(0, MAX_REPLICAS_SHOWN).map((name) => shown(name));
  const more = replicas.length - names.length;
  const among = names.join(", ").concat(more > 0 ? ` and ${more} more` : "");
  const off = isCutOff ? "; cut off from the others, it goes on with what it has" : "";
  return `replica ${shown(self)} of ${among}: ${own} of ${all} clusters${off}`;
}
