import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import { isBeingDeleted } from "#core/node/needs-work.ts";
import type { Node, NodeCondition } from "#core/node/node.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { hasShutdownTaint } from "#core/node-lifecycle/shutdown-taint.ts";
import type { NodeSettings } from "#core/settings.ts";

/** Whether a node's lifecycle, by what it is now, has something to be done or looked at: level-triggered. */
export function needsWork(node: Node, settings: NodeSettings): boolean {
  if (isBeingDeleted(node)) return false;
  return isReady(node) ? hasShutdownTaint(node) : isMonitored(node, settings);
}

/** Whether a node's kubelet says that all is well; a node that says nothing of it is not Ready. */
export function isReady(node: Node): boolean {
  return readyCondition(node)?.status === "True";
}

/** The node's condition Ready. */
export function readyCondition(node: Node): NodeCondition | undefined {
  return node.status.conditions?.find(({ type }) => type === "Ready");
}

/**
 * Whether the cloud is asked about a node that is not Ready. One that waits for its first minute, and of which no instance was
 * ever seen, can be neither deleted nor marked: the node controller looks after it.
 */
export function isMonitored(node: Node, { deletion }: NodeSettings): boolean {
  return deletion.unseen || wasSeen(node) || !isUninitialized(node);
}

/** Whether an instance of the node was ever seen, as far as the node says. */
export function wasSeen(node: Node): boolean {
  return node.metadata.annotations?.[INSTANCE_ANNOTATION] !== undefined;
}
