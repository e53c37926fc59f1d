import type { ObservedObject } from "#relay/work/apply-observed.ts";
import type { Queue } from "#relay/work/types.ts";

/** An object as the API server stores it. */
export interface Stored {
  readonly version: number;
  readonly needsWork: boolean;
  readonly fingerprint: string;
}

/** What the contract alone says about one object. */
export interface Modelled {
  stored: Stored;
  /** Versions that the watch has not shown yet, oldest first. */
  unseen: Stored[];
  /** The newest version that it has shown. */
  shown: number | undefined;
  /** The version in a report that the watch has not shown. */
  awaited: number | undefined;
  needed: boolean;
  flight: number | undefined;
  /** A function may be writing until then. */
  lostUntilMs: number | undefined;
  /**
   * Whether related objects have changed since it was last sent, so that it must be resynced if it needs no
   * work.
   */
  owed: boolean;
  isMet: boolean;
}

/** One invocation of the model. */
export interface ModelledFlight {
  readonly queue: Queue;
  readonly uids: readonly string[];
  /** The versions that were sent. */
  readonly versions: readonly number[];
  /** Whether it began before the store was reset. */
  isOfThePast: boolean;
}

/** A cluster, its watch and what is in flight, in a minimal form. */
export interface Model {
  nowMs: number;
  flights: Map<number, ModelledFlight>;
  sent: number;
  /** The objects of the API server. */
  readonly objects: Map<string, Modelled>;
  /**
   * Invocations of objects that were deleted since, by uid; an object that returns before its invocation is
   * settled is still in it.
   */
  readonly left: Map<string, number>;
  versions: number;
}

/** Creates an empty cluster. */
export function createModel(): Model {
  return { nowMs: 0, flights: new Map(), sent: 0, objects: new Map(), left: new Map(), versions: 0 };
}

/** Writes a new version of an object, which the watch has not shown yet. */
export function store(model: Model, uid: string, needsWork: boolean, fingerprint: string): Stored {
  model.versions += 1;
  const stored = { version: model.versions, needsWork, fingerprint };
  const object = model.objects.get(uid);
  if (object !== undefined) {
    object.stored = stored;
    object.unseen.push(stored);
    return stored;
  }
  model.objects.set(uid, {
    stored,
    unseen: [stored],
    shown: undefined,
    awaited: undefined,
    needed: false,
    flight: undefined,
    lostUntilMs: undefined,
    owed: false,
    isMet: false,
  });
  return stored;
}

/** Shows a version to the model, which drops one older than what is known. */
export function showVersion(model: Model, uid: string, object: Modelled, stored: Stored): void {
  object.flight ??= model.left.get(uid);
  model.left.delete(uid);
  if (stored.version < Math.max(object.shown ?? 0, object.awaited ?? 0)) return;
  // What changed before it was first seen was not reported.
  if (!object.isMet && !stored.needsWork) object.owed = true;
  object.isMet = true;
  object.shown = stored.version;
  object.awaited = undefined;
  object.needed = stored.needsWork;
}

/** Converts a stored object to what pending work observes. */
export function toObserved(uid: string, { version, needsWork, fingerprint }: Stored): ObservedObject {
  const metadata = { name: uid, uid, resourceVersion: String(version), creationTimestamp: "" };
  const followsRelated = true;
  return {
    kind: "object",
    needsWork,
    snapshot: { metadata },
    fingerprint,
    undoneBy: undefined,
    followsRelated,
  };
}

/** Returns whether a function may be writing to it. */
export function isOut({ flight, lostUntilMs }: Modelled): boolean {
  return flight !== undefined || lostUntilMs !== undefined;
}
