import type { Because, ClusterEvent, ClusterWrite, Decision, ObjectReference } from "#core/decision.ts";
import type { Edit } from "#core/json-patch.ts";
import { test } from "#core/json-patch.ts";
import type { Node } from "#core/node/node.ts";
import { UP_TO_DATE } from "#core/up-to-date.ts";

/** Nothing of ours is left to do. */
export const NOTHING_LEFT: Because = { code: UP_TO_DATE, message: "nothing is left to do" };

/** What a change says of itself, and what is said where it turns out that there is nothing to write. */
export interface About {
  readonly because: Because;
  readonly otherwise: Because;
  readonly events?: readonly ClusterEvent[];
  readonly warnings?: readonly Because[];
}

/** A change of the writes that there are, in order; a skip where there is none. */
export function changeOrSkip(
  node: Node,
  writes: readonly (ClusterWrite | undefined)[],
  { because, otherwise, events = [], warnings = [] }: About,
): Decision {
  const [first, ...rest] = writes.filter((write) => write !== undefined);
  if (first === undefined) return skip(node, otherwise);
  return {
    kind: "change",
    object: referenceTo(node),
    because,
    writes: [first, ...rest],
    events: [...events],
    warnings: [...warnings],
  };
}

/** Leaves the node as it is. */
export function skip(node: Node, because: Because): Decision {
  return { kind: "skip", object: referenceTo(node), because };
}

/** Leaves the node as it is, to look again after so many seconds. */
export function retry(
  node: Node,
  because: Because,
  afterSeconds: number,
  events: readonly ClusterEvent[],
): Decision {
  return { kind: "retry", object: referenceTo(node), because, afterSeconds, events: [...events] };
}

/** One patch of a node or of its status out of edits; undefined where they change nothing. The first test is the uid's. */
export function patchNode(
  node: Node,
  edits: readonly Edit[],
  subresource?: "status",
): ClusterWrite | undefined {
  const [first, ...rest] = edits.flatMap(({ operations }) => operations);
  if (first === undefined) return undefined;
  const { name, uid } = node.metadata;
  // Two edits may guard the same thing; what was read of it is the same for both.
  const tests = new Map(edits.flatMap((edit) => edit.tests.map((operation) => [operation.path, operation])));
  return {
    on: "cluster",
    resource: "nodes",
    ...(subresource === undefined ? {} : { subresource }),
    verb: "patch",
    name,
    precondition: [test("/metadata/uid", uid), ...tests.values()],
    patch: [first, ...rest],
  };
}

function referenceTo(node: Node): ObjectReference {
  const { name, uid } = node.metadata;
  return { kind: "Node", name, uid };
}
