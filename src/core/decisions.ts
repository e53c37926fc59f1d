import type { ClusterEvent, Decision, PatchWrite, Plan, Write } from "#core/decision.ts";
import type { Edit } from "#core/json-patch.ts";
import { test } from "#core/json-patch.ts";
import type { ObjectReference, Reason } from "#core/reason.ts";
import type { Resource } from "#core/resources/resource.ts";

/** No work of ours is left. */
export const NOTHING_LEFT: Reason = { code: "UpToDate", message: "nothing is left to do" };

/** The fields that identify an object. */
export interface IdentifiedObject {
  readonly metadata: {
    readonly namespace?: string | undefined;
    readonly name: string;
    readonly uid: string;
  };
}

/** The reason, Events and warnings of a change. */
export interface ChangeDetails {
  readonly because: Reason;
  readonly events?: readonly ClusterEvent[];
  readonly warnings?: readonly Reason[];
  readonly independent?: true;
}

/** Returns the reference to an object in decisions and reports. */
export function toReference(
  { apiVersion, kind }: Resource,
  { metadata: { namespace, name, uid } }: IdentifiedObject,
): ObjectReference {
  return { apiVersion, kind, ...(namespace === undefined ? {} : { namespace }), name, uid };
}

/** Returns a change with the given writes, in order; undefined if none of them is defined. */
export function change(
  object: ObjectReference,
  writes: readonly (Write | undefined)[],
  { because, events = [], warnings = [], independent }: ChangeDetails,
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

/** Returns the decision that no work is left. */
export function leaveUnchanged(object: ObjectReference, because: Reason = NOTHING_LEFT): Decision {
  return { kind: "unchanged", object, because };
}

/** Returns the decision to leave the object unchanged. */
export function skip(object: ObjectReference, because: Reason): Decision {
  return { kind: "skip", object, because };
}

/** Returns the decision to leave the object unchanged and to check it again after some seconds. */
export function retry(
  object: ObjectReference,
  because: Reason,
  afterSeconds: number,
  events: readonly ClusterEvent[] = [],
): Extract<Decision, { readonly kind: "retry" }> {
  return { kind: "retry", object, because, afterSeconds, events: [...events] };
}

/** Returns a plan in which each object is decided separately. */
export function planEach(decisions: readonly Decision[]): Plan {
  return { kind: "each", decisions };
}

/**
 * Returns one JSON patch of an object or its subresource; undefined if the edits change nothing. The first
 * test is that of the uid.
 */
export function patchObject(
  { apiVersion, name: resource }: Resource,
  { metadata: { namespace, name, uid } }: IdentifiedObject,
  edits: readonly Edit[],
  subresource?: string,
): PatchWrite | undefined {
  const [first, ...rest] = edits.flatMap(({ operations }) => operations);
  if (first === undefined) return undefined;
  // Two edits may test one path; the value read is equal for both.
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
