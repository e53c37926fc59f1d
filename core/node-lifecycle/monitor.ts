import type { Node } from "#core/node/node.ts";
import { readyCondition } from "#core/node-lifecycle/needs-work.ts";
import { secondsSince } from "#core/node-lifecycle/state.ts";
import type { NodeSettings } from "#core/settings.ts";

/** A node whose state does not change is looked at so often at least. */
const SLOWEST_SECONDS = 60;

/** A wait of a quarter of the state's age grows by a quarter each time. */
const AGE_DIVISOR = 4;

/** Seconds until a node that is not Ready is looked at again: the later the longer it is so, which needs no memory. */
export function monitorAfterSeconds(node: Node, { monitorSeconds }: NodeSettings, now: Date): number {
  const since = notReadySince(node, now) ?? Date.parse(node.metadata.creationTimestamp);
  const ageSeconds = (now.getTime() - since) / 1_000;
  const wait = Number.isNaN(ageSeconds) ? 0 : ageSeconds / AGE_DIVISOR;
  return Math.round(Math.min(SLOWEST_SECONDS, Math.max(monitorSeconds, wait)));
}

/** When the node ceased to be Ready, in milliseconds; undefined where it does not say, or says a time that is yet to come. */
export function notReadySince(node: Node, now: Date): number | undefined {
  const since = readyCondition(node)?.lastTransitionTime;
  // An unreadable time is in no order to anything.
  return since !== undefined && secondsSince(since, now) >= 0 ? Date.parse(since) : undefined;
}
