import type {
  Because,
  ClusterEvent,
  Decision,
  ObjectReference,
  PatchWrite,
  Plan,
  Write,
} from "#core/decision.ts";
import type { Edit } from "#core/json-patch.ts";
import { test } from "#core/json-patch.ts";
import type { Resource } from "#core/resources/resource.ts";

/** Nothing of ours is left to do. */
export const NOTHING_LEFT: Because = { code: "UpToDate", message: "nothing is left to do" };

/** What an object is known by. */
export interface Identified {
  readonly metadata: {
    readonly namespace?: string | undefined;
    readonly name: string;
    readonly uid: string;
  };
}

/** What a change says of itself. */
export interface About {
  readonly because: Because;
  readonly events?: readonly ClusterEvent[];
  readonly warnings?: readonly Because[];
  readonly independent?: true;
}

/** The object as decisions and reports name it. */
export function referenceTo(
  { apiVersion, kind }: Resource,
  { metadata: { namespace, name, uid } }: Identified,
): ObjectReference {
  return { apiVersion, kind, ...(namespace === undefined ? {} : { namespace }), name, uid };
}

/** A change of the writes that there are, in order; undefined where there is none. */
export function change(
  object: ObjectReference,
  writes: readonly (Write | undefined)[],
  { because, events = [], warnings = [], independent }: About,
): Decision | undefined {
  const [first, ...rest] = writes.filter((write) => write !== undefined);
  if (first === undefined) return undefined;
  return {
    kind: "change",
    object,
    because,
    writes: [first, ...rest],
    ...(independent === undefined ? {} : { independent }),
    events: [...events],
    warnings: [...warnings],
  };
}

/** Nothing is left to do. */
export function unchanged(object: ObjectReference, because: Because = NOTHING_LEFT): Decision {
  return { kind: "unchanged", object, because };
}

/** Leaves the object as it is. */
export function skip(object: ObjectReference, because: Because): Decision {
  return { kind: "skip", object, because };
}

/** Leaves the object as it is, to look again after so many seconds. */
export function retry(
  object: ObjectReference,
  because: Because,
  afterSeconds: number,
  events: readonly ClusterEvent[] = [],
): Extract<Decision, { readonly kind: "retry" }> {
  return { kind: "retry", object, because, afterSeconds, events: [...events] };
}

/** Each object by itself. */
export function each(decisions: readonly Decision[]): Plan {
  return { kind: "each", decisions };
}

/** One JSON patch of an object or of a subresource of it; undefined where the edits change nothing. The first test is the uid's. */
export function patchObject(
  { apiVersion, name: resource }: Resource,
  { metadata: { namespace, name, uid } }: Identified,
  edits: readonly Edit[],
  subresource?: string,
): PatchWrite | undefined {
  const [first, ...rest] = edits.flatMap(({ operations }) => operations);
  if (first === undefined) return undefined;
  // Two edits may guard the same thing; what was read of it is the same for both.
  const tests = new Map(edits.flatMap((edit) => edit.tests.map((operation) => [operation.path, operation])));
  return {
    on: "cluster",
    apiVersion,
    resource,
    ...(namespace === undefined ? {} : { namespace }),
    name,
    verb: "patch",
    ...(subresource === undefined ? {} : { subresource }),
    precondition: [test("/metadata/uid", uid), ...tests.values()],
    patch: [first, ...rest],
  };
}
