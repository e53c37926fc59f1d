import type { ObservedObject } from "#relay/work/observed.ts";
import type { Queue } from "#relay/work/pending.ts";

/** An object as the API server has it. */
export interface Stored {
  readonly version: number;
  readonly needsWork: boolean;
  readonly fingerprint: string;
}

/** What is to be known of one object, by the contract alone. */
export interface Modelled {
  stored: Stored;
  /** Versions that the watch has yet to show, oldest first. */
  unseen: Stored[];
  /** The newest version that it has shown. */
  shown: number | undefined;
  /** The version that a report named, where the watch has not shown it. */
  awaited: number | undefined;
  needed: boolean;
  flight: number | undefined;
  /** Somebody may be writing until then. */
  lostUntilMs: number | undefined;
  /** Related objects have changed since it was last sent: a look is owed to it, where it needs no work. */
  owed: boolean;
  isMet: boolean;
}

/** One flight of the model. */
export interface ModelledFlight {
  readonly queue: Queue;
  readonly uids: readonly string[];
  /** As they were sent. */
  readonly versions: readonly number[];
  /** Begun before the store was set back. */
  isOfThePast: boolean;
}

/** A cluster, its watch and what is in flight, as far as it can be said in a few lines. */
export interface Model {
  nowMs: number;
  flights: Map<number, ModelledFlight>;
  sent: number;
  /** What the API server has. */
  readonly objects: Map<string, Modelled>;
  /** By uid: flights of objects that were deleted since; a uid that comes back before its flight is settled is in that still. */
  readonly left: Map<string, number>;
  versions: number;
}

/** An empty cluster. */
export function emptyModel(): Model {
  return { nowMs: 0, flights: new Map(), sent: 0, objects: new Map(), left: new Map(), versions: 0 };
}

/** Writes a new version of an object, which the watch has yet to show. */
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

/** What the model makes of a version that is shown: dropped where it is older than what is known. */
export function showTo(model: Model, uid: string, object: Modelled, stored: Stored): void {
  object.flight ??= model.left.get(uid);
  model.left.delete(uid);
  if (stored.version < Math.max(object.shown ?? 0, object.awaited ?? 0)) return;
  // What changed before it was met was told to nobody.
  if (!object.isMet && !stored.needsWork) object.owed = true;
  object.isMet = true;
  object.shown = stored.version;
  object.awaited = undefined;
  object.needed = stored.needsWork;
}

/** The same as pending work is shown it. */
export function observed(uid: string, { version, needsWork, fingerprint }: Stored): ObservedObject {
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

/** Whether somebody may be writing to it for us. */
export function isOut({ flight, lostUntilMs }: Modelled): boolean {
  return flight !== undefined || lostUntilMs !== undefined;
}
