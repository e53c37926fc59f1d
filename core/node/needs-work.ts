import type { EventReason } from "#core/event.ts";
import { hasLabelsToReconcile } from "#core/node/labels.ts";
import type { Node } from "#core/node/node.ts";
import { isUninitialized } from "#core/node/taints.ts";

/** Returns whether a node needs work in its current state: the relay's predicate, level-triggered. */
export function needsWork(node: Node): boolean {
  return !isBeingDeleted(node) && (isUninitialized(node) || hasLabelsToReconcile(node));
}

/** Returns whether the decision on a node depends on the cloud's answer about its instance. */
export function needsInstance(node: Node, reason: EventReason): boolean {
  return !isBeingDeleted(node) && (isUninitialized(node) || RESYNC_REASONS[reason]);
}

/** Returns whether a node is being deleted; such a node is never written. */
export function isBeingDeleted(node: Node): boolean {
  return node.metadata.deletionTimestamp !== undefined;
}

/** Whether the reason of an event requires a check of the instances of initialized nodes too. */
const RESYNC_REASONS: Readonly<Record<EventReason, boolean>> = {
  watch: false,
  retry: false,
  monitor: false,
  refresh: true,
  sweep: true,
  replay: true,
};
