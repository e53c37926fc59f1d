import type { Decision } from "#core/decision.ts";
import type { EventReason } from "#core/event.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { decideWithoutInstance } from "#core/node/answer.ts";
import { initialize } from "#core/node/initialize.ts";
import type { Node } from "#core/node/node.ts";
import { skip } from "#core/node/outcome.ts";
import { comparesWithCloud, reconcileLabels, refresh } from "#core/node/reconcile.ts";
import { isUninitialized } from "#core/node/taints.ts";

/** What a decision takes beside the node and the cloud's answer. */
export interface NodeContext {
  readonly reason: EventReason;
  readonly now: Date;
}

/**
 * What to do about one node, given what the cloud says of it (undefined: it was not asked). A node with the taint is
 * initialized; one without is kept in line; one that is going away is left alone.
 */
export function decideNode(node: Node, answer: InstanceAnswer | undefined, context: NodeContext): Decision {
  if (node.metadata.deletionTimestamp !== undefined) {
    return skip(node, { code: "BeingDeleted", message: "the node is being deleted" });
  }
  if (isUninitialized(node)) {
    if (answer?.kind === "found") return initialize(node, answer.instance, context.now);
    return decideWithoutInstance(node, answer, context.now);
  }
  if (comparesWithCloud(context.reason)) return refresh(node, answer, context.now);
  return reconcileLabels(node);
}
