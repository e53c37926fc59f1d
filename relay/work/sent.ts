import {
  type Entry,
  free,
  type InFlight,
  isNewDeletion,
  type Look,
  type Task,
  type Work,
} from "#relay/work/entry.ts";
import { afterLook, lookAgain, type Rules } from "#relay/work/looking.ts";
import { changedByUs, hurried } from "#relay/work/seen.ts";
import { endOfWait } from "#relay/work/waits.ts";

/** An entry whose object is in flight. */
export type FlyingEntry = Entry & { readonly phase: InFlight };

/** The end of a flight for one object. */
export interface Settling {
  readonly nowMs: number;
  /** Uniform in [0, 1), and the same for all of the flight that are to stay together. */
  readonly draw: number;
  readonly rules: Rules;
}

/** The entry with its task in flight. */
export function started(entry: Entry, task: Task, flight: number, sinceMs: number, nowMs: number): Entry {
  const next = task.queue === "work" ? task : undefined;
  const phase: InFlight = {
    kind: "in-flight",
    flight,
    task,
    sinceMs,
    startedMs: nowMs,
    isOfThePast: false,
    isWoken: false,
    next,
  };
  const isDeletion = task.snapshot.metadata.deletionTimestamp !== undefined;
  return isDeletion
    ? { ...entry, phase, past: { ...entry.past, hasTriedDeletion: true } }
    : { ...entry, phase };
}

/** The entry after its flight was refused: what was sent is due as if it had not been. */
export function refused(entry: FlyingEntry): Entry {
  const { task, next } = entry.phase;
  return { ...entry, phase: free(task.queue === "look" && next?.queue !== "work" ? task : next) };
}

/** The entry after a flight of which nothing is known, and in which somebody may be writing for `settleMs` more. */
export function failed(entry: FlyingEntry, settleMs: number, settling: Settling): Entry {
  const { task } = entry.phase;
  const untilMs = settling.nowMs + settleMs;
  const after =
    task.queue === "look"
      ? afterLookOf(entry, task, untilMs, settling)
      : afterWorkOf(entry, task, untilMs, settling);
  if (settleMs <= 0) return { ...after, phase: free(after.phase.next) };
  return { ...after, phase: { kind: "lost", untilMs, next: after.phase.next } };
}

function afterLookOf(entry: FlyingEntry, sent: Look, fromMs: number, { draw, rules }: Settling): Entry {
  const { phase, past } = entry;
  const { dueMs } = endOfWait("failed", past.failedLooks + 1, { fromMs, draw });
  const next = phase.next ?? lookAgain(sent, past, { dueMs, wait: "failed" }, rules);
  return { ...entry, past: afterLook(past, phase.startedMs, true, rules), phase: { ...phase, next } };
}

function afterWorkOf(
  entry: FlyingEntry,
  sent: Work,
  fromMs: number,
  { nowMs, draw, rules }: Settling,
): Entry {
  const { phase, past } = entry;
  if (phase.next?.queue !== "work") return changedByUs(entry, sent.snapshot, nowMs, rules);
  const failures = past.failures + 1;
  const next: Work = {
    ...phase.next,
    ...endOfWait("failed", failures, { fromMs, draw }),
    wait: "failed",
    tried: { fingerprint: sent.fingerprint, demand: sent.demand, atMs: phase.startedMs },
    mayBeDone: true,
  };
  const hurriedNext = isNewDeletion(past, next.snapshot) ? hurried(next, past, fromMs) : next;
  return { ...entry, past: { ...past, failures }, phase: { ...phase, next: hurriedNext } };
}
