import { type ClusterLimiter, createClusterLimiter } from "#relay/delivery/cluster-limiter.ts";
import { createQuota, type Quota } from "#relay/delivery/quota.ts";

/** A cloud account in the invocation limiter: its quotas, and the clusters that spend them. */
export interface LimiterAccount {
  readonly quota: Quota;
  readonly clusters: ReadonlyMap<string, ClusterLimiter>;
  /** Returns the limiter of a cluster; a new one for an unknown cluster. */
  cluster(name: string, nowMs: number): ClusterLimiter;
  /**
   * Estimates how many clusters use the account: those of this process in the last hour, scaled by this
   * process's part of the quotas.
   */
  countSharing(): number;
  /** Returns whether a cluster with an invocation in flight may have one more. */
  hasRoom(floorShare: number): boolean;
  /** Adds an invocation that is not its cluster's first; -1 removes it. */
  countBeyond(by: 1 | -1): void;
  /** Drops clusters without anything to remember. Returns whether the account is empty. */
  forget(nowMs: number, kept: ReadonlySet<ClusterLimiter>): boolean;
}

/**
 * A cluster sends something at least once in this time, because the addresses of its nodes are compared more
 * often.
 */
const SHARING_MS = 3_600_000;

/**
 * Creates an account that has spent nothing; `part` returns this process's part of its quotas, from 0 to 1.
 */
export function createLimiterAccount(nowMs: number, part: () => number): LimiterAccount {
  const quota = createQuota(nowMs, part);
  const clusters = new Map<string, ClusterLimiter>();
  /** When each cluster last sent something. */
  const cameMs = new Map<string, number>();
  let beyond = 0;
  return {
    quota,
    clusters,
    cluster(name, atMs) {
      cameMs.set(name, atMs);
      const turns = clusters.get(name) ?? createClusterLimiter();
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
