import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import { isBeingDeleted } from "#core/node/needs-work.ts";
import type { Node, NodeCondition } from "#core/node/node.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { hasShutdownTaint } from "#core/node-lifecycle/shutdown-taint.ts";
import type { NodeSettings } from "#core/settings.ts";

/** Returns whether a node's lifecycle needs work or a check in its current state: level-triggered. */
export function needsWork(node: Node, settings: NodeSettings): boolean {
  if (isBeingDeleted(node)) return false;
  return isReady(node) ? hasShutdownTaint(node) : isMonitored(node, settings);
}

/** Returns whether a node's kubelet reports it as Ready; without a condition it is not Ready. */
export function isReady(node: Node): boolean {
  return findReadyCondition(node)?.status === "True";
}

/** Returns the node's condition Ready. */
export function findReadyCondition(node: Node): NodeCondition | undefined {
  return node.status.conditions?.find(({ type }) => type === "Ready");
}

/**
 * Returns whether the cloud is asked about a node that is not Ready. A node that waits for its
 * initialization, and was never observed with an instance, can be neither deleted nor tainted: the node
 * controller works on it.
 */
export function isMonitored(node: Node, { deletion }: NodeSettings): boolean {
  return deletion.unseen || isObservedBefore(node) || !isUninitialized(node);
}

/** Returns whether the node records an instance with which it was observed. */
export function isObservedBefore(node: Node): boolean {
  return node.metadata.annotations?.[INSTANCE_ANNOTATION] !== undefined;
}
