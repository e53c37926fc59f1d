import type { Because, ClusterEvent, Decision, ObjectReference, PatchWrite, Write } from "#core/decision.ts";
import * as decisions from "#core/decisions.ts";
import type { Edit } from "#core/json-patch.ts";
import type { Node } from "#core/node/node.ts";
import { NODES } from "#core/resources/resource.ts";

/** What a change says of itself, and what is decided where it turns out that there is nothing to write. */
export interface About extends decisions.About {
  readonly otherwise: Decision;
}

/** A change of the writes that there are, in order; what is said otherwise where there is none. */
export function changeOr(
  node: Node,
  writes: readonly (Write | undefined)[],
  { otherwise, ...about }: About,
): Decision {
  return decisions.change(referenceTo(node), writes, about) ?? otherwise;
}

/** Nothing of ours is left to do. */
export function unchanged(node: Node, because?: Because): Decision {
  return decisions.unchanged(referenceTo(node), because);
}

/** Leaves the node as it is. */
export function skip(node: Node, because: Because): Decision {
  return decisions.skip(referenceTo(node), because);
}

/** Leaves the node as it is, to look again after so many seconds. */
export function retry(
  node: Node,
  because: Because,
  afterSeconds: number,
  events: readonly ClusterEvent[],
): Decision {
  return decisions.retry(referenceTo(node), because, afterSeconds, events);
}

/** One patch of a node or of its status out of edits; undefined where they change nothing. */
export function patchNode(
  node: Node,
  edits: readonly Edit[],
  subresource?: "status",
): PatchWrite | undefined {
  return decisions.patchObject(NODES, node, edits, subresource);
}

function referenceTo(node: Node): ObjectReference {
  return decisions.referenceTo(NODES, node);
}
