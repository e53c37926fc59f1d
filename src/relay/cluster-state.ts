import type { ClusterStatus } from "#relay/cluster-relay.ts";
import type { InvocationLimiterStatus } from "#relay/delivery/create-invocation-limiter.ts";

/** Why a cluster is not followed, or not as configured. It names files and keys, never their contents. */
export interface NotFollowedReason {
  readonly code: string;
  readonly message: string;
}

/** The state of a cluster, followed or not. */
export interface ClusterState extends ClusterStatus {
  /**
   * What is wrong with the current configuration. The relay continues with the previous one, if there was
   * one.
   */
  readonly configurationFault: NotFollowedReason | undefined;
  /** Nodes and Services that the last sweep found overdue, in a process that sweeps the cluster as well. */
  readonly overdue?: number | undefined;
}

/** Creates the state of a cluster that cannot be followed and of which nothing else is known. */
export function createUnfollowedState(name: string, fault: NotFollowedReason): ClusterState {
  return { ...NOTHING, name, ready: false, failure: fault, configurationFault: fault };
}

const NOTHING = {
  invocations: 0,
  objects: 0,
  needed: 0,
  inFlight: 0,
  due: { work: 0, look: 0 },
  limited: [],
  controllers: [],
} as const;

/**
 * Returns a function that marks the clusters whose invocations are slow or fail, which only the invocation limiter
 * knows.
 */
export function markSlowedClusters(
  status: () => readonly ClusterState[],
  limiter: () => Pick<InvocationLimiterStatus, "slowedClusters">,
): () => readonly ClusterState[] {
  return () => {
    const slowed = new Set(limiter().slowedClusters);
    if (slowed.size === 0) return status();
    return status().map((each) =>
      slowed.has(each.name) ? { ...each, limited: [...each.limited, UNRESPONSIVE] } : each,
    );
  };
}

const UNRESPONSIVE = {
  limit: "unresponsive",
  message: "its invocations are slow, fail or are lost; there is one at a time until they are well again",
} as const;
