import type { EventReason } from "#core/event.ts";
import { hasLabelsToReconcile } from "#core/node/labels.ts";
import type { Node } from "#core/node/node.ts";
import { isUninitialized } from "#core/node/taints.ts";

/** Whether a node, by what it is now, has something to be done on it: the relay's predicate, level-triggered. */
export function needsWork(node: Node): boolean {
  return !isBeingDeleted(node) && (isUninitialized(node) || hasLabelsToReconcile(node));
}

/** Whether deciding on a node depends on what the cloud says of its instance. */
export function needsInstance(node: Node, reason: EventReason): boolean {
  return !isBeingDeleted(node) && (isUninitialized(node) || LOOKS_AGAIN[reason]);
}

/** Whether a node is on its way out; nothing is ever written on such a one. */
export function isBeingDeleted(node: Node): boolean {
  return node.metadata.deletionTimestamp !== undefined;
}

/** Whether the reason of an event calls for a look at the instances of initialized nodes too. */
const LOOKS_AGAIN: Readonly<Record<EventReason, boolean>> = {
  watch: false,
  retry: false,
  monitor: false,
  refresh: true,
  sweep: true,
  replay: true,
};
