import type { EventReason } from "#core/event.ts";
import { reconciledLabels } from "#core/node/labels.ts";
import type { Node } from "#core/node/node.ts";
import { comparesWithCloud } from "#core/node/reconcile.ts";
import { isUninitialized } from "#core/node/taints.ts";

/** Whether the node, as it is, wants something of the node controller; level-triggered, so it may be asked at any time. */
export function needsWork(node: Node): boolean {
  if (node.metadata.deletionTimestamp !== undefined) return false;
  return isUninitialized(node) || reconciledLabels(node).length > 0;
}

/** Whether deciding about the node for this reason takes the cloud's answer. */
export function needsInstance(node: Node, reason: EventReason): boolean {
  if (node.metadata.deletionTimestamp !== undefined) return false;
  return isUninitialized(node) || comparesWithCloud(reason);
}
