import type { GateStatus } from "#relay/delivery/create-gate.ts";
import type { FollowedCluster } from "#relay/followed-cluster.ts";

/** How clusters fare, with what only the gate before the functions knows: whose invocations are slow or fail. */
export function withSlowed(
  status: () => readonly FollowedCluster[],
  gate: () => Pick<GateStatus, "slowedClusters">,
): () => readonly FollowedCluster[] {
  return () => {
    const slowed = new Set(gate().slowedClusters);
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
