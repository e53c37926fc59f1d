import type { ClustersFile } from "#config/clusters-file.ts";
import type { ClusterRegistry } from "#config/registry/registry.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import type { Membership } from "#relay/sharding/membership.ts";
import {
  createShardedRegistry,
  type ShardCount,
  type ShardedRegistry,
} from "#relay/sharding/sharded-registry.ts";

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
