import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import type { Node, NodeCondition } from "#core/node/node.ts";
import type { NodeSettings } from "#core/node/settings.ts";
import { hasShutdownTaint, isUninitialized } from "#core/node/taints.ts";
import { isBeingDeleted } from "#core/node/watch.ts";
import { getSecondsSince } from "#core/node-lifecycle/state.ts";

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

/** The maximum interval between checks of a node whose state does not change. */
const SLOWEST_SECONDS = 60;

/** An interval of a quarter of the state's age grows by a quarter each time. */
const AGE_DIVISOR = 4;

/**
 * Returns the seconds until a node that is not Ready is checked again. They grow with the time in that state,
 * which needs no record.
 */
export function getMonitorDelay(node: Node, { monitorSeconds }: NodeSettings, now: Date): number {
  const since = getNotReadySince(node, now) ?? Date.parse(node.metadata.creationTimestamp);
  const ageSeconds = (now.getTime() - since) / 1_000;
  const wait = Number.isNaN(ageSeconds) ? 0 : ageSeconds / AGE_DIVISOR;
  return Math.round(Math.min(SLOWEST_SECONDS, Math.max(monitorSeconds, wait)));
}

/**
 * Returns when the node stopped being Ready, in milliseconds; undefined if the time is missing or in the
 * future.
 */
export function getNotReadySince(node: Node, now: Date): number | undefined {
  const since = findReadyCondition(node)?.lastTransitionTime;
  // An unreadable time compares false with everything.
  return since !== undefined && getSecondsSince(since, now) >= 0 ? Date.parse(since) : undefined;
}
