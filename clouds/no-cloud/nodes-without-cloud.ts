import type { Cloud } from "#clouds/cloud.ts";
import { noCloudAnswer } from "#clouds/no-cloud/instance.ts";
import type { InstanceAnswer } from "#core/instance.ts";

/** A cloud for load balancers alone: nodes are what they say themselves, or are left to others. */
export function createNodesWithoutCloud(provider: string, nodes: "no-cloud" | "none"): Cloud {
  return {
    provider,
    async instances(asked, { signal }) {
      const answers = asked.map((node): InstanceAnswer => {
        if (signal.aborted) return ABORTED;
        return nodes === "none" ? LEFT : noCloudAnswer(node, { scheme: provider });
      });
      return { answers, usage: { calls: {}, throttled: 0, waitedMs: 0 } };
    },
    async close() {},
  };
}

const ABORTED: InstanceAnswer = { kind: "error", code: "Aborted", message: "aborted before it was answered" };

/** Nothing is done to a node that nobody answers for. */
const LEFT: InstanceAnswer = {
  kind: "error",
  code: "Unavailable",
  message:
    "nodes are left to others (cloud.nodes: none): take the node controllers out of the cluster's controllers",
};
