import { type ClusterTurns, createClusterTurns } from "#relay/delivery/cluster-turns.ts";
import { createQuota, type Quota } from "#relay/delivery/quota.ts";

/** A cloud account as the gate knows it: its quotas, and the clusters that spend from them. */
export interface GateAccount {
  readonly quota: Quota;
  readonly clusters: ReadonlyMap<string, ClusterTurns>;
  /** A new one where nothing is known of it. */
  cluster(name: string, nowMs: number): ClusterTurns;
  /** Estimates how many clusters draw on the account: those of this process in the last hour, and as large a part of the others' as of the quotas. */
  countSharing(): number;
  /** Whether a cluster that has some in flight may have one more, beyond the first of each. */
  hasRoom(floorShare: number): boolean;
  /** Counts one that is not the first of its cluster, or, with -1, counts it no more. */
  countBeyond(by: 1 | -1): void;
  /** Drops the clusters of which there is nothing to remember; whether there is nothing left of the account. */
  forget(nowMs: number, kept: ReadonlySet<ClusterTurns>): boolean;
}

/** A cluster has something to send at least once in this time: addresses of its nodes are compared more often. */
const SHARING_MS = 3_600_000;

/** An account that has spent nothing yet; `part` is what of its quotas this process may spend, 0 to 1. */
export function createGateAccount(nowMs: number, part: () => number): GateAccount {
  const quota = createQuota(nowMs, part);
  const clusters = new Map<string, ClusterTurns>();
  /** When each cluster came last. */
  const cameMs = new Map<string, number>();
  let beyond = 0;
  return {
    quota,
    clusters,
    cluster(name, atMs) {
      cameMs.set(name, atMs);
      const turns = clusters.get(name) ?? createClusterTurns();
      clusters.set(name, turns);
      return turns;
    },
    countSharing() {
      const own = Math.max(1, cameMs.size);
      return part() > 0 ? Math.max(own, Math.round(own / part())) : own;
    },
    hasRoom: (floorShare) => beyond < Math.floor(part() / floorShare),
    countBeyond(by) {
      beyond += by;
    },
    forget(atMs, kept) {
      for (const [name, turns] of clusters)
        if (turns.isForgotten(atMs) && !kept.has(turns)) clusters.delete(name);
      for (const [name, lastMs] of cameMs) if (atMs - lastMs >= SHARING_MS) cameMs.delete(name);
      return clusters.size === 0 && cameMs.size === 0;
    },
  };
}
