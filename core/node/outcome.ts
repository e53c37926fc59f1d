import {
  type Because,
  type ClusterEvent,
  type Decision,
  type ObjectReference,
  UP_TO_DATE,
} from "#core/decision.ts";
import type { Node } from "#core/node/node.ts";

/** How a decision speaks of the node. */
export function referenceOf(node: Node): ObjectReference {
  return { kind: "Node", name: node.metadata.name, uid: node.metadata.uid };
}

/** Nothing of ours is left to do. */
export function upToDate(node: Node): Decision {
  return skip(node, { code: UP_TO_DATE, message: "nothing is left to do" });
}

export function skip(node: Node, because: Because): Decision {
  return { kind: "skip", object: referenceOf(node), because };
}

/** To be decided again later, in silence: it passes by itself. */
export function retry(node: Node, because: Because, afterSeconds: number): Decision {
  return { kind: "retry", object: referenceOf(node), because, afterSeconds, events: [] };
}

/** To be decided again later, with a Warning on the node: it takes somebody to mend it. `reason` is the Event's. */
export function retryWithWarning(
  node: Node,
  reason: string,
  because: Because,
  afterSeconds: number,
): Decision {
  const message = because.message.slice(0, 1024);
  const event: ClusterEvent = { type: "Warning", reason, code: because.code, message };
  return { kind: "retry", object: referenceOf(node), because, afterSeconds, events: [event] };
}

/**
 * Seconds after which to look again at something that has not come right in `ageSeconds`: a quarter of the age, so that a
 * young node is looked at often and an old one costs little.
 */
export function patience(ageSeconds: number, atLeastSeconds: number, atMostSeconds: number): number {
  return Math.min(atMostSeconds, Math.max(atLeastSeconds, ageSeconds / 4));
}

/** A node's age in seconds; 0 where clocks disagree or its timestamp cannot be read. */
export function ageSeconds(node: Node, now: Date): number {
  const ageMs = now.getTime() - Date.parse(node.metadata.creationTimestamp);
  return ageMs > 0 ? ageMs / 1000 : 0;
}
