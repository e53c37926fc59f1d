import { applyOwnChange, hasten } from "#relay/work/apply-observed.ts";
import {
  createFreePhase,
  type Entry,
  type InFlight,
  isNewDeletion,
  type Resync,
  type Task,
  type Work,
} from "#relay/work/entry.ts";
import {
  mergeResyncs,
  planAfterFailedResync,
  recordResync,
  retryResync,
  type WorkRules,
} from "#relay/work/resync.ts";
import { getWaitEnd } from "#relay/work/waits.ts";

/** An entry whose object is in flight. */
export type InFlightEntry = Entry & { readonly phase: InFlight };

/** The context in which an invocation ends for one object. */
export interface SettlementContext {
  readonly nowMs: number;
  /** Uniform in [0, 1), and equal for objects that are sent again in one batch. */
  readonly draw: number;
  readonly rules: WorkRules;
}

/** Returns the entry with the given task in flight since `nowMs`; `sinceMs` is when the task became ready. */
export function startTask(
  entry: Entry,
  task: Task,
  invocation: number,
  sinceMs: number,
  nowMs: number,
): Entry {
  const next = task.queue === "work" ? task : undefined;
  const phase: InFlight = {
    kind: "in-flight",
    invocation,
    task,
    sinceMs,
    startedMs: nowMs,
    isOutdated: false,
    isFirstAfterDeletion: isNewDeletion(entry.history, task.snapshot),
    isRequeued: false,
    next,
  };
  return phase.isFirstAfterDeletion
    ? { ...entry, phase, history: { ...entry.history, hasTriedDeletion: true } }
    : { ...entry, phase };
}

/**
 * Returns the entry after a refused invocation: what was sent is due again, together with what was planned meanwhile.
 */
export function applyRefusal(entry: InFlightEntry): Entry {
  const { phase, history } = entry;
  const hasTriedDeletion = history.hasTriedDeletion && !phase.isFirstAfterDeletion;
  return {
    ...entry,
    history: { ...history, hasTriedDeletion },
    phase: createFreePhase(getTaskAfterRefusal(phase)),
  };
}

/** The `next` of sent work is that work in its newest state, or undefined if the watch shows it as done. */
function getTaskAfterRefusal({ task, next }: InFlight): Task | undefined {
  if (task.queue === "work" || next?.queue === "work") return next;
  return next === undefined ? task : mergeResyncs(task, next);
}

/** Returns the entry after a failed invocation, whose function may still be writing for `settleMs`. */
export function applyFailure(entry: InFlightEntry, settleMs: number, settling: SettlementContext): Entry {
  const { task } = entry.phase;
  const untilMs = settling.nowMs + settleMs;
  const settled =
    task.queue === "look"
      ? applyResyncFailure(entry, task, untilMs, settling)
      : applyWorkFailure(entry, task, untilMs, settling);
  const { next } = settled.phase;
  return { ...settled, phase: settleMs <= 0 ? createFreePhase(next) : { kind: "lost", untilMs, next } };
}

function applyResyncFailure(
  entry: InFlightEntry,
  sent: Resync,
  fromMs: number,
  { draw, rules }: SettlementContext,
): Entry {
  const { phase, history } = entry;
  const { dueMs } = getWaitEnd("failed", history.failedResyncs + 1, { fromMs, draw });
  const retry = retryResync(sent, history, { dueMs, wait: "failed" }, rules);
  return {
    ...entry,
    history: recordResync(history, phase.startedMs, true, rules),
    phase: { ...phase, next: planAfterFailedResync(retry, phase.next) },
  };
}

function applyWorkFailure(
  entry: InFlightEntry,
  sent: Work,
  fromMs: number,
  { nowMs, draw, rules }: SettlementContext,
): Entry {
  const { phase, history } = entry;
  // The watch has shown that the work is done: the invocation did it, although its report is missing.
  if (phase.next?.queue !== "work") return applyOwnChange(entry, sent.snapshot, nowMs, rules);
  const failures = history.failures + 1;
  const next: Work = {
    ...phase.next,
    ...getWaitEnd("failed", failures, { fromMs, draw }),
    wait: "failed",
    tried: { fingerprint: sent.fingerprint, demand: sent.demand, atMs: phase.startedMs },
    mayBeDone: true,
  };
  // A deletion that was not sent yet follows as soon as no function writes any more.
  const expeditedNext = isNewDeletion(history, next.snapshot) ? hasten(next, history, fromMs) : next;
  return { ...entry, history: { ...history, failures }, phase: { ...phase, next: expeditedNext } };
}
