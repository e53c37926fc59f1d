import type { ClusterEvent, Decision, PatchWrite, Write } from "#core/decision.ts";
import * as decisions from "#core/decisions.ts";
import type { Edit } from "#core/json-patch.ts";
import type { Node } from "#core/node/node.ts";
import type { ObjectReference, Reason } from "#core/reason.ts";
import { NODES } from "#core/resources/resource.ts";

/** The reason and Events of a change, and the decision if nothing needs to be written. */
export interface ChangeDetails extends decisions.ChangeDetails {
  readonly otherwise: Decision;
}

/** Returns a change with the given writes, in order; without writes, the alternative decision. */
export function changeOr(
  node: Node,
  writes: readonly (Write | undefined)[],
  { otherwise, ...about }: ChangeDetails,
): Decision {
  return decisions.change(toNodeReference(node), writes, about) ?? otherwise;
}

/** Returns the decision that no work is left. */
export function leaveUnchanged(node: Node, because?: Reason): Decision {
  return decisions.leaveUnchanged(toNodeReference(node), because);
}

/** Returns the decision to leave the node unchanged. */
export function skip(node: Node, because: Reason): Decision {
  return decisions.skip(toNodeReference(node), because);
}

/** Returns the decision to leave the node unchanged and to check it again after some seconds. */
export function retry(
  node: Node,
  because: Reason,
  afterSeconds: number,
  events: readonly ClusterEvent[],
): Decision {
  return decisions.retry(toNodeReference(node), because, afterSeconds, events);
}

/** Returns one patch of a node or of its status from edits; undefined if they change nothing. */
export function patchNode(
  node: Node,
  edits: readonly Edit[],
  subresource?: "status",
): PatchWrite | undefined {
  return decisions.patchObject(NODES, node, edits, subresource);
}

function toNodeReference(node: Node): ObjectReference {
  return decisions.toReference(NODES, node);
}
