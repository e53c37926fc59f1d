import { NODE_EVENT_SOURCE } from "#core/contracts.ts";
import type { InstanceController } from "#core/controller.ts";
import { each } from "#core/decisions.ts";
import { decideNode } from "#core/node/decide.ts";
import { needsInstance } from "#core/node/needs-work.ts";
import type { Node } from "#core/node/node.ts";
import { nodeWatch } from "#core/node/watch.ts";
import { managerOf } from "#core/tenant-fact.ts";

/** The cloud-node-controller: initializes nodes, and keeps them in line with their instances. */
export const nodeController: InstanceController<Node> = {
  ...nodeWatch,
  eventSource: NODE_EVENT_SOURCE,
  asks: (node, { reason }) => (needsInstance(node, reason) ? { capability: "instances", node } : undefined),
  decide: (batch, { reason, now }) =>
    each(
      batch.map(({ object, answer, hint }) =>
        decideNode(object, answer, { reason, now, taintRestoredBy: managerOf(hint) }),
      ),
    ),
};
