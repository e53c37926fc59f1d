import type { InvocationLimiterStatus } from "#relay/delivery/create-invocation-limiter.ts";
import type { FollowedCluster } from "#relay/followed-cluster.ts";

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
