import type { ObjectHint } from "#core/event.ts";
import type { ObjectReport } from "#core/report.ts";
import type { ObjectName } from "#core/resources/resource.ts";
import type { ApiObject } from "#core/watch.ts";

/** The two queues: work that objects need, and resyncs of objects that need none. Resyncs never delay work. */
export type Queue = "work" | "look";

/** One version of one object, by UID: an object of the same name with another UID is another object. */
export interface ObjectVersion extends ObjectName {
  readonly uid: string;
  readonly resourceVersion: string;
}

/** One object, by UID: an object of the same name with another UID is another object. */
export interface ObjectIdentity extends ObjectName {
  readonly uid: string;
}

/** Reduces an object, or a version of it, to its identity. */
export function toObjectIdentity({ namespace, name, uid }: ObjectIdentity): ObjectIdentity {
  return namespace === undefined ? { name, uid } : { namespace, name, uid };
}

/** An object that may be sent. */
export interface ReadyObject extends ObjectIdentity {
  readonly snapshot: ApiObject;
  /** Whether it was sent before and the work was not done. */
  readonly again: boolean;
  /** When it became due, in milliseconds. */
  readonly sinceMs: number;
  /** For a resync: `refresh` observes everything, `watch` only what related objects change. */
  readonly resyncReason?: "refresh" | "watch";
  /** Facts for the function that the object itself does not carry. */
  readonly hint: ObjectHint | undefined;
}

/** The result of an invocation for one object. */
export type Settlement =
  | { readonly kind: "report"; readonly report: ObjectReport }
  /** The result is unknown: the function may still be writing for `settleMs`. */
  | { readonly kind: "failed"; readonly settleMs: number }
  /** The invocation did not start and the invoker waits: the object returns to its place, as if it was not sent. */
  | { readonly kind: "refused" };

/** Another writer undoes our work on an object repeatedly. */
export interface Conflict extends ObjectIdentity {
  readonly rounds: number;
  /** The field manager, if known. */
  readonly manager: string | undefined;
}

/** Counts for status and metrics. */
export interface PendingCounts {
  readonly objects: number;
  /** Objects that need work, in flight or not. */
  readonly needed: number;
  readonly inFlight: number;
  /** Objects that could be sent now. */
  readonly due: Readonly<Record<Queue, number>>;
}
