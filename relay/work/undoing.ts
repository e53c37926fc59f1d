import type { ObjectHint } from "#core/event.ts";
import type { Entry, Past, Work } from "#relay/work/entry.ts";
import type { Undone } from "#relay/work/pending.ts";

/** Work that is there again this soon after we did it was undone by somebody. */
const UNDONE_WITHIN_MS = 60_000;

/** After so many rounds it is a habit. */
const ROUNDS_TO_WARN = 3;

/** What Kubernetes allows for the name of a field manager. */
const MAX_MANAGER = 128;

/** Whether work that is there now is there again because somebody undid ours. */
export function isUndone(past: Past, nowMs: number): boolean {
  return nowMs - past.changedMs <= UNDONE_WITHIN_MS;
}

/** The past with one more round, which is as old as the last of our changes. */
export function withRound(past: Past): Past {
  return { ...past, failures: 0, undoneRounds: past.undoneRounds + 1 };
}

/** The past of an object that needs work which nobody made necessary again. */
export function withoutRounds(past: Past): Past {
  return past.failures === 0 && past.undoneRounds === 0 ? past : { ...past, failures: 0, undoneRounds: 0 };
}

/** Who undoes our work, where the step from one entry to the other makes it a habit: once, however many rounds follow. */
export function undoneOf(before: Entry, after: Entry): Undone | undefined {
  const { uid, namespace, name, phase, past } = after;
  const rounds = past.undoneRounds;
  if (rounds !== ROUNDS_TO_WARN || before.past.undoneRounds === rounds) return undefined;
  return {
    uid,
    namespace,
    name,
    rounds,
    manager: phase.next?.queue === "work" ? phase.next.undoneBy : undefined,
  };
}

/** Who undoes our work, for whoever does it again, once that has become a habit. */
export function undoneByHint({ undoneRounds }: Past, { undoneBy }: Work): Pick<ObjectHint, "undoneBy"> {
  if (undoneRounds < ROUNDS_TO_WARN) return {};
  return { undoneBy: (undoneBy || "a writer without a name").slice(0, MAX_MANAGER) };
}
