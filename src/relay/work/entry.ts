import type { ObjectHint } from "#core/event.ts";
import type { ApiObject } from "#core/watch.ts";
import type { Conflict, ObjectIdentity } from "#relay/work/types.ts";
import type { WaitReason } from "#relay/work/waits.ts";

/** What was sent when work was last tried, and when. */
export interface Attempt {
  readonly fingerprint: string | undefined;
  readonly demand: string | undefined;
  readonly atMs: number;
}

/** Work on an object. */
export interface Work {
  readonly queue: "work";
  /** The newest known snapshot; the event carries the one that is newest when it is sent. */
  readonly snapshot: ApiObject;
  readonly dueMs: number;
  /** From this time on it goes along when other waiting objects go. */
  readonly earliestMs: number;
  /** Why it is not done yet; undefined before the first try. */
  readonly wait: WaitReason | undefined;
  /** The compared fields of the snapshot, as the watch shows them. */
  readonly fingerprint: string | undefined;
  /** The compared fields at the last try, after its writes. */
  readonly tried: Attempt | undefined;
  /** What the object requests, as the watch shows it; undefined if the controller does not define it. */
  readonly demand: string | undefined;
  /** Whether a lost invocation may have done it. */
  readonly mayBeDone: boolean;
  /** The field manager, other than ours, that wrote last. */
  readonly undoneBy: string | undefined;
}

/** A resync of an object that needs no work. */
export interface Resync {
  readonly queue: "look";
  readonly snapshot: ApiObject;
  readonly dueMs: number;
  readonly isForDrift: boolean;
  /** `watch` means for related objects only, `refresh` a complete check. */
  readonly reason: "watch" | "refresh";
  /** Why it is not done yet; undefined before the first try. */
  readonly wait: WaitReason | undefined;
}

/** The next task for an object. */
export type Task = Work | Resync;

/** An object that was sent and is not settled yet. */
export interface InFlight {
  readonly kind: "in-flight";
  readonly invocation: number;
  /** The task that was sent, updated with the newest snapshot. */
  readonly task: Task;
  /** When the task became ready, and when it was sent. */
  readonly sinceMs: number;
  readonly startedMs: number;
  /** Whether the versions in its report belong to a history that has ended. */
  readonly isOutdated: boolean;
  /** Whether the object is sent for the first time since its deletion began. */
  readonly isFirstAfterDeletion: boolean;
  /** Whether a related object has changed meanwhile. */
  readonly isRequeued: boolean;
  readonly next: Task | undefined;
}

/** The phase of an object; `next` follows if nothing happens before. */
export type Phase =
  | { readonly kind: "idle"; readonly next: undefined }
  | { readonly kind: "due"; readonly next: Task }
  | InFlight
  /** No report arrived; a function may still be writing. */
  | { readonly kind: "lost"; readonly untilMs: number; readonly next: Task | undefined }
  /** The watch has not shown the version in the report. If it does not until then, the object is read. */
  | {
      readonly kind: "unconfirmed";
      readonly version: string;
      readonly untilMs: number;
      readonly next: Task | undefined;
    };

/** What is remembered about an object's invocations. */
export interface EntryHistory {
  /** Invocations in a row that left work to do. */
  readonly failures: number;
  readonly failedResyncs: number;
  readonly resyncedMs: number;
  /** When an invocation last changed the object, as far as known. */
  readonly changedMs: number;
  /** Whether the object was sent after its deletion began. */
  readonly hasTriedDeletion: boolean;
  /** How often in a row that change was undone. */
  readonly conflictRounds: number;
  /** The fingerprint after our last write. */
  readonly written: string | undefined;
  /** The warnings of the last report that named any. */
  readonly reportedWarnings: readonly string[] | undefined;
  /** Deletion candidates by id, with the time since which every report has named them. */
  readonly candidates: ReadonlyMap<string, number> | undefined;
}

/** Everything known about one object; an immutable value. */
export interface Entry extends ObjectIdentity {
  /** The newest version that the watch has shown. */
  readonly version: string | undefined;
  /** The fingerprint when it last needed no work; undefined while it needs work. */
  readonly fingerprint: string | undefined;
  /** The announcement for which it was resynced last. */
  readonly announced: string | undefined;
  /** The last snapshot, if changes of related objects cause a resync although the object needs no work. */
  readonly kept: ApiObject | undefined;
  readonly phase: Phase;
  readonly history: EntryHistory;
}

/** The shared phase of all objects without a task. */
export const IDLE: Phase = { kind: "idle", next: undefined };

/** The shared history of all objects that were never in flight. */
const NO_PAST: EntryHistory = {
  failures: 0,
  failedResyncs: 0,
  resyncedMs: Number.NEGATIVE_INFINITY,
  changedMs: Number.NEGATIVE_INFINITY,
  hasTriedDeletion: false,
  conflictRounds: 0,
  written: undefined,
  reportedWarnings: undefined,
  candidates: undefined,
};

/**
 * Creates the entry of a new object. `invocation` is set if one still carries it because the object
 * seemed gone.
 */
export function createEntry(
  { uid, namespace, name }: ObjectIdentity,
  invocation: InFlight | undefined,
): Entry {
  return {
    uid,
    namespace,
    name,
    version: undefined,
    fingerprint: undefined,
    announced: undefined,
    kept: undefined,
    phase: invocation ?? IDLE,
    history: NO_PAST,
  };
}

/**
 * Returns whether the object is being deleted and was not sent since the deletion began. It then waits for
 * nothing.
 */
export function isNewDeletion({ hasTriedDeletion }: EntryHistory, { metadata }: ApiObject): boolean {
  return metadata.deletionTimestamp !== undefined && !hasTriedDeletion;
}

/** Returns the phase of an object whose next task nothing delays. */
export function createFreePhase(next: Task | undefined): Phase {
  return next === undefined ? IDLE : { kind: "due", next };
}

/** Returns the phase with another next task. */
export function replaceNext(phase: Phase, next: Task | undefined): Phase {
  return phase.kind === "idle" || phase.kind === "due" ? createFreePhase(next) : { ...phase, next };
}

/** Returns whether the object needs work, as far as known. */
export function isNeeded({ phase }: Entry): boolean {
  return phase.next?.queue === "work";
}

/** Returns whether a function may be writing to the object. */
export function isOut({ phase }: Entry): boolean {
  return phase.kind === "in-flight" || phase.kind === "lost";
}

/** Returns when the next step is due if nothing happens before. */
export function getNextStepMs(phase: Phase): number | undefined {
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

/** After this many rounds a Warning names the writer. */
const ROUNDS_TO_WARN = 3;

/** The length that Kubernetes allows for the name of a field manager. */
const MAX_MANAGER = 128;

/**
 * Returns who undoes our work, if the step between the entries reaches the limit of rounds; reported once,
 * however many rounds follow.
 */
export function detectConflict(before: Entry, after: Entry): Conflict | undefined {
  const { uid, namespace, name, phase, history } = after;
  const rounds = history.conflictRounds;
  if (rounds !== ROUNDS_TO_WARN || before.history.conflictRounds === rounds) return undefined;
  return {
    uid,
    namespace,
    name,
    rounds,
    manager: phase.next?.queue === "work" ? phase.next.undoneBy : undefined,
  };
}

/** Returns the hint that tells the function who undoes our work, once the limit of rounds is reached. */
export function buildConflictHint(
  { conflictRounds }: EntryHistory,
  { undoneBy }: Work,
): Pick<ObjectHint, "undoneBy"> {
  if (conflictRounds < ROUNDS_TO_WARN) return {};
  return { undoneBy: (undoneBy || "a writer without a name").slice(0, MAX_MANAGER) };
}
