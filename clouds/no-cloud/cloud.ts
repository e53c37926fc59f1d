import type { Cloud } from "#clouds/cloud.ts";
import type { NoCloudConfig } from "#clouds/no-cloud/config.ts";
import { buildNoCloudAnswer } from "#clouds/no-cloud/instance.ts";
import { createRules } from "#clouds/no-cloud/rules.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";

/**
 * Creates a cloud that answers from the node and the rules alone: it sends no request and never reports a
 * node as gone.
 */
export function createNoCloud({ rules = [] }: Pick<NoCloudConfig, "rules">): Cloud {
  const ruleOf = createRules(rules);
  const answerFor = (node: Node): InstanceAnswer => {
    const plain = buildNoCloudAnswer(node, { scheme: "no-cloud" });
    const rule = ruleOf(node.metadata.name, plain.instance.addresses);
    if (rule === undefined) return plain;
    const { instanceType: type = "", zone = "", region = "", labels = {} } = rule;
    return { kind: "found", instance: { ...plain.instance, type, zone, region, labels } };
  };
  return {
    provider: "no-cloud",
    async instances(nodes, { signal }) {
      const answers = nodes.map((node) => (signal.aborted ? ABORTED : answerFor(node)));
      return { answers, usage: { calls: {}, throttled: 0, waitedMs: 0 } };
    },
    async close() {},
  };
}

const ABORTED: InstanceAnswer = { kind: "error", code: "Aborted", message: "aborted before it was answered" };
