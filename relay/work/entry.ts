import type { ApiObject } from "#core/controller.ts";
import type { KnownObject } from "#relay/work/pending.ts";
import type { WaitReason } from "#relay/work/waits.ts";

/** What was sent when work was last tried, and when. */
export interface Tried {
  readonly fingerprint: string | undefined;
  readonly demand: string | undefined;
  readonly atMs: number;
}

/** Something to be done on an object. */
export interface Work {
  readonly queue: "work";
  /** As newly as it is known; sent is what it is by then. */
  readonly snapshot: ApiObject;
  readonly dueMs: number;
  /** From here on it goes along where others go that have waited. */
  readonly earliestMs: number;
  /** Why it is not done yet; undefined before it was tried. */
  readonly wait: WaitReason | undefined;
  /** What may be compared of the snapshot, as the watch shows it … */
  readonly fingerprint: string | undefined;
  /** … and as it was when this was last tried, after whatever was written then. */
  readonly tried: Tried | undefined;
  /** What the object asks for, as the watch shows it; undefined where the controller does not tell. */
  readonly demand: string | undefined;
  /** A flight that nothing is known of may have done it. */
  readonly mayBeDone: boolean;
  /** The field manager that wrote last, other than ours. */
  readonly undoneBy: string | undefined;
}

/** A look at an object that needs no work. */
export interface Look {
  readonly queue: "look";
  readonly snapshot: ApiObject;
  readonly dueMs: number;
  readonly isForDrift: boolean;
  /** Whether related objects alone are why, or all that there is to be looked at. */
  readonly reason: "watch" | "refresh";
  /** Why it is not done yet; undefined before it was tried. */
  readonly wait: WaitReason | undefined;
}

/** What is to be done next with an object. */
export type Task = Work | Look;

/** Sent, and not settled yet. */
export interface InFlight {
  readonly kind: "in-flight";
  readonly flight: number;
  /** What was sent, by now with the newest snapshot. */
  readonly task: Task;
  /** When that became ready, and when it was sent. */
  readonly sinceMs: number;
  readonly startedMs: number;
  /** Versions of its report are of a history that has ended. */
  readonly isOfThePast: boolean;
  /** A related object has changed meanwhile. */
  readonly isWoken: boolean;
  readonly next: Task | undefined;
}

/** Where an object stands; `next` is what follows, if nothing is heard of it before. */
export type Phase =
  | { readonly kind: "idle"; readonly next: undefined }
  | { readonly kind: "due"; readonly next: Task }
  | InFlight
  /** Without a report; somebody may be writing still. */
  | { readonly kind: "lost"; readonly untilMs: number; readonly next: Task | undefined }
  /** The watch has yet to show the version that a report named; where it does not until then, the object is read. */
  | {
      readonly kind: "unconfirmed";
      readonly version: string;
      readonly untilMs: number;
      readonly next: Task | undefined;
    };

/** What is remembered of an object's flights. */
export interface Past {
  /** Flights in a row after which there was still work to do. */
  readonly failures: number;
  readonly failedLooks: number;
  readonly lookedMs: number;
  /** When a flight last changed it, as far as is known. */
  readonly changedMs: number;
  /** Whether the object was sent since its deletion began. */
  readonly hasTriedDeletion: boolean;
  /** How often that was undone, one time after another. */
  readonly undoneRounds: number;
  /** The fingerprint after our last write. */
  readonly written: string | undefined;
  /** As its last report that named any has it. */
  readonly said: readonly string[] | undefined;
  /** Deletion candidates that every report has named since this time, by id. */
  readonly candidates: ReadonlyMap<string, number> | undefined;
}

/** What is known of one object; a value. */
export interface Entry extends KnownObject {
  /** The newest that the watch has shown. */
  readonly version: string | undefined;
  /** As last seen without work to do; undefined while there is some. */
  readonly fingerprint: string | undefined;
  /** As last seen, where a change of related objects is a reason to look at it although it needs no work. */
  readonly kept: ApiObject | undefined;
  readonly phase: Phase;
  readonly past: Past;
}

/** The one phase of all objects with which nothing is to be done. */
export const IDLE: Phase = { kind: "idle", next: undefined };

/** The one past of all objects that were never in flight. */
const NO_PAST: Past = {
  failures: 0,
  failedLooks: 0,
  lookedMs: Number.NEGATIVE_INFINITY,
  changedMs: Number.NEGATIVE_INFINITY,
  hasTriedDeletion: false,
  undoneRounds: 0,
  written: undefined,
  said: undefined,
  candidates: undefined,
};

/** An object that is met; the flight is one of which it was thought that the object was gone. */
export function newEntry({ uid, namespace, name }: KnownObject, flight: InFlight | undefined): Entry {
  return {
    uid,
    namespace,
    name,
    version: undefined,
    fingerprint: undefined,
    kept: undefined,
    phase: flight ?? IDLE,
    past: NO_PAST,
  };
}

/** Whether the object is being deleted, and was not sent since that began: it waits for nothing then. */
export function isNewDeletion({ hasTriedDeletion }: Past, { metadata }: ApiObject): boolean {
  return metadata.deletionTimestamp !== undefined && !hasTriedDeletion;
}

/** The phase of an object that nothing holds back from what is next. */
export function free(next: Task | undefined): Phase {
  return next === undefined ? IDLE : { kind: "due", next };
}

/** The phase with something else to follow. */
export function followedBy(phase: Phase, next: Task | undefined): Phase {
  return phase.kind === "idle" || phase.kind === "due" ? free(next) : { ...phase, next };
}

/** Whether the object needs work, as far as is known. */
export function isNeeded({ phase }: Entry): boolean {
  return phase.next?.queue === "work";
}

/** Whether somebody may be writing to the object for us. */
export function isOut({ phase }: Entry): boolean {
  return phase.kind === "in-flight" || phase.kind === "lost";
}

/** When something is next to be done with the object, if nothing is heard of it before. */
export function nextStepMs(phase: Phase): number | undefined {
  switch (phase.kind) {
    case "idle":
    case "in-flight":
      return undefined;
    case "due":
      return phase.next.dueMs;
    case "lost":
    case "unconfirmed":
      return phase.untilMs;
  }
}
