import type { Node } from "#core/node/node.ts";
import { findReadyCondition } from "#core/node-lifecycle/needs-work.ts";
import { getSecondsSince } from "#core/node-lifecycle/state.ts";
import type { NodeSettings } from "#core/settings.ts";

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
