import { NODE_EVENT_SOURCE } from "#core/contracts.ts";
import type { InstanceController } from "#core/controller.ts";
import { planEach } from "#core/decisions.ts";
import { decideNode } from "#core/node/decide.ts";
import type { Node } from "#core/node/node.ts";
import type { LabelSettings } from "#core/node/settings.ts";
import { needsInstance, nodeWatch } from "#core/node/watch.ts";
import { getManagerFact } from "#core/tenant-fact.ts";

/** The cloud-node-controller: initializes nodes, and keeps them in line with their instances. */
export const nodeController: InstanceController<Node> = {
  ...nodeWatch,
  eventSource: NODE_EVENT_SOURCE,
  buildQuestion: (node, { reason, settings }) =>
    needsInstance(node, reason)
      ? { capability: "instances", node, labels: selectRequestedLabels(settings.nodes.labels) }
      : undefined,
  decide: (batch, { reason, now, settings }) =>
    planEach(
      batch.map(({ object, answer, hint }) =>
        decideNode(object, answer, { reason, now, settings, taintRestoredBy: getManagerFact(hint) }),
      ),
    ),
};

function selectRequestedLabels({
  addMissing,
  correctDiffering,
}: LabelSettings): "missing" | "all" | undefined {
  if (correctDiffering) return "all";
  return addMissing ? "missing" : undefined;
}
