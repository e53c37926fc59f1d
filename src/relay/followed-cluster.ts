import type { ClusterStatus } from "#relay/cluster-relay.ts";
import type { InvocationLimiterStatus } from "#relay/delivery/create-invocation-limiter.ts";

/** Why a cluster cannot be followed as configured. It names files and keys, never their contents. */
export interface ConfigurationFault {
  readonly code: string;
  readonly message: string;
}

/** The state of a cluster, followed or not. */
export interface FollowedCluster extends ClusterStatus {
  /**
   * What is wrong with the current configuration. The relay continues with the previous one, if there was
   * one.
   */
  readonly configurationFault: ConfigurationFault | undefined;
  /** Nodes that the last sweep found overdue, in a process that sweeps the cluster as well. */
  readonly overdue?: number | undefined;
}

/** Creates the state of a cluster that cannot be followed and of which nothing else is known. */
export function createUnfollowedCluster(name: string, fault: ConfigurationFault): FollowedCluster {
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
 * Adds to the state of clusters what only the invocation limiter knows: whose invocations are slow or fail.
 */
export function addSlowedClusters(
  status: () => readonly FollowedCluster[],
  limiter: () => Pick<InvocationLimiterStatus, "slowedClusters">,
): () => readonly FollowedCluster[] {
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
