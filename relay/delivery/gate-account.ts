import { type ClusterTurns, createClusterTurns } from "#relay/delivery/cluster-turns.ts";
import { createQuota, type Quota } from "#relay/delivery/quota.ts";

/** A cloud account as the gate knows it: its quotas, and the clusters that spend from them. */
export interface GateAccount {
  readonly quota: Quota;
  readonly clusters: ReadonlyMap<string, ClusterTurns>;
  /** A new one where nothing is known of it. */
  cluster(name: string): ClusterTurns;
  /** Whether a cluster that has some in flight may have one more, beyond the first of each. */
  hasRoom(floorShare: number): boolean;
  /** Counts one that is not the first of its cluster, or, with -1, counts it no more. */
  countBeyond(by: 1 | -1): void;
  /** Drops the clusters of which there is nothing to remember; whether there is nothing left of the account. */
  forget(nowMs: number, kept: ReadonlySet<ClusterTurns>): boolean;
}

/** An account that has spent nothing yet; `part` is what of its quotas this process may spend, 0 to 1. */
export function createGateAccount(nowMs: number, part: () => number): GateAccount {
  const quota = createQuota(nowMs, part);
  const clusters = new Map<string, ClusterTurns>();
  let beyond = 0;
  return {
    quota,
    clusters,
    cluster(name) {
      const turns = clusters.get(name) ?? createClusterTurns();
      clusters.set(name, turns);
      return turns;
    },
    hasRoom: (floorShare) => beyond < Math.floor(part() / floorShare),
    countBeyond(by) {
      beyond += by;
    },
    forget(atMs, kept) {
      for (const [name, turns] of clusters)
        if (turns.isForgotten(atMs) && !kept.has(turns)) clusters.delete(name);
      return clusters.size === 0;
    },
  };
}
