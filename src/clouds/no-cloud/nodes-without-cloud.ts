import type { Cloud } from "#clouds/cloud.ts";
import { buildNoCloudAnswer } from "#clouds/no-cloud/instance.ts";
import type { InstanceAnswer } from "#core/instance.ts";

/**
 * Creates the node part of a cloud for load balancers only: nodes describe themselves, or are left to others.
 */
export function createNodesWithoutCloud(provider: string, nodes: "no-cloud" | "none"): Cloud {
  return {
    provider,
    async instances(asked, { signal }) {
      const answers = asked.map((node): InstanceAnswer => {
        if (signal.aborted) return ABORTED;
        return nodes === "none" ? LEFT : buildNoCloudAnswer(node, { scheme: provider });
      });
      return { answers, usage: { calls: {}, throttled: 0, waitedMs: 0 } };
    },
    async close() {},
  };
}

const ABORTED: InstanceAnswer = { kind: "error", code: "Aborted", message: "aborted before it was answered" };

/** Nodes that no cloud answers for are not changed. */
const LEFT: InstanceAnswer = {
  kind: "error",
  code: "Unavailable",
  message:
    "nodes are left to others (cloud.nodes: none): take the node controllers out of the cluster's controllers",
};
