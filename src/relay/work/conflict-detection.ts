import type { ObjectHint } from "#core/event.ts";
import type { Entry, EntryHistory, Work } from "#relay/work/entry.ts";
import type { Conflict } from "#relay/work/types.ts";

/** Work that is needed again this soon after we did it was undone by another writer. */
const UNDONE_WITHIN_MS = 60_000;

/** After this many rounds a Warning names the writer. */
const ROUNDS_TO_WARN = 3;

/** The length that Kubernetes allows for the name of a field manager. */
const MAX_MANAGER = 128;

/** Returns whether work is needed again because another writer undid ours. */
export function isUndone(past: EntryHistory, nowMs: number): boolean {
  return nowMs - past.changedMs <= UNDONE_WITHIN_MS;
}

/** Returns the history with one more round, as old as our last change. */
export function addConflictRound(past: EntryHistory): EntryHistory {
  return { ...past, failures: 0, conflictRounds: past.conflictRounds + 1 };
}

/** Returns the history of an object whose work no other writer made necessary. */
export function clearConflictRounds(past: EntryHistory): EntryHistory {
  return past.failures === 0 && past.conflictRounds === 0
    ? past
    : { ...past, failures: 0, conflictRounds: 0 };
}

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
