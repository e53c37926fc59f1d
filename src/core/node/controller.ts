import { NODE_EVENT_SOURCE } from "#core/contracts.ts";
import type { InstanceController } from "#core/controller.ts";
import { planEach } from "#core/decisions.ts";
import type { EventReason } from "#core/event.ts";
import { decideNode } from "#core/node/decide.ts";
import type { Node } from "#core/node/node.ts";
import type { LabelSettings, NodeSettings } from "#core/node/settings.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { needsInstance, nodeWatch } from "#core/node/watch.ts";
import { getManagerFact } from "#core/tenant-fact.ts";

/** The cloud-node-controller: initializes nodes, and keeps them in line with their instances. */
export const nodeController: InstanceController<Node> = {
  ...nodeWatch,
  eventSource: NODE_EVENT_SOURCE,
  buildQuestion: (node, { reason, settings }) =>
    needsInstance(node, reason)
      ? {
          capability: "instances",
          node,
          labels: selectRequestedLabels(settings.nodes.labels),
          ...(isJoining(node, reason) ? selectAhead(settings.nodes) : {}),
        }
      : undefined,
  decide: (batch, { reason, now, settings }) =>
    planEach(
      batch.map(({ object, answer, hint }) =>
        decideNode(object, answer, { reason, now, settings, taintRestoredBy: getManagerFact(hint) }),
      ),
    ),
};

/**
 * Returns whether a look-up from before the node joined suffices. Only the relay sees a node join, and a resync
 * checks every initialization by facts from after it.
 */
function isJoining(node: Node, reason: EventReason): boolean {
  return (reason === "watch" || reason === "retry") && isUninitialized(node);
}

/** Returns how look-ahead serves a node that joins; nothing if the cluster has no source. */
function selectAhead({ lookAhead }: NodeSettings) {
  return lookAhead.length === 0 ? {} : { ahead: "use" as const, launches: lookAhead.includes("launches") };
}

function selectRequestedLabels({
  addMissing,
  correctDiffering,
}: LabelSettings): "missing" | "all" | undefined {
  if (correctDiffering) return "all";
  return addMissing ? "missing" : undefined;
}
