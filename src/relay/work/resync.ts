import type { ApiObject, ResyncPolicy } from "#core/watch.ts";
import {
  createFreePhase,
  type Entry,
  type EntryHistory,
  type Resync,
  replaceNext,
  type Task,
} from "#relay/work/entry.ts";
import { getWaitEnd, isEndedByRelated } from "#relay/work/waits.ts";

/** Drift of one object causes at most one resync in this time. */
const DRIFT_EVERY_MS = 60_000;

/**
 * Resyncs that fail in a row are given up, because the next refresh brings another one. This does not hold if
 * changes reach the function by resyncs alone.
 */
const MAX_RESYNCS = 3;

/** The rules for all objects of one controller and cluster. */
export interface WorkRules {
  /** When the controller resyncs objects without work; undefined for never. */
  readonly resyncPolicy: Pick<ResyncPolicy, "againSeconds" | "whenRelatedChange"> | undefined;
  /** Whether the controller monitors a lasting state: an object may still need work after work on it. */
  readonly monitors?: boolean;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/** Returns the second resync after a change of ours. */
export function planSecondResync(
  { resyncPolicy, random }: WorkRules,
  snapshot: ApiObject,
  nowMs: number,
): Resync | undefined {
  if (resyncPolicy?.againSeconds === undefined) return undefined;
  const [from, to] = resyncPolicy.againSeconds;
  return createResync(snapshot, nowMs + 1_000 * (from + random() * (to - from)));
}

/** Creates a complete resync. */
export function createResync(snapshot: ApiObject, dueMs: number): Resync {
  return { queue: "look", snapshot, dueMs, isForDrift: false, reason: "refresh", wait: undefined };
}

/** Plans the resync after a change of related objects: at once, unless it would only fail again. */
export function planRelatedResync(next: Resync | undefined, snapshot: ApiObject, nowMs: number): Resync {
  if (next === undefined) return { ...createResync(snapshot, nowMs), reason: "watch" };
  const dueMs = isEndedByRelated(next.wait) ? Math.min(next.dueMs, nowMs) : next.dueMs;
  return { ...next, dueMs, isForDrift: false };
}

/**
 * Returns the resync in place of a sent one without a result and of the one that was planned meanwhile: complete if
 * either is, at the earlier time.
 */
export function mergeResyncs(sent: Resync, planned: Resync): Resync {
  const isComplete = sent.reason === "refresh" || planned.reason === "refresh";
  return {
    ...(sent.dueMs <= planned.dueMs ? sent : planned),
    snapshot: planned.snapshot,
    isForDrift: sent.isForDrift && planned.isForDrift,
    reason: isComplete ? "refresh" : "watch",
  };
}

/** Returns the next task after a failed resync: its retry, together with the resync that was planned meanwhile. */
export function planAfterFailedResync(
  retry: Resync | undefined,
  planned: Task | undefined,
): Task | undefined {
  if (planned === undefined || retry === undefined) return planned ?? retry;
  return planned.queue === "look" ? mergeResyncs(retry, planned) : planned;
}

/** Returns whether a fingerprint differs from the previous one and from what we wrote. */
export function isDrift(
  fingerprint: string | undefined,
  before: string | undefined,
  { written }: EntryHistory,
): boolean {
  const known = before ?? written;
  return known !== undefined && fingerprint !== undefined && known !== fingerprint && fingerprint !== written;
}

/**
 * Plans the resync after drift: at once, but not too soon after the last one. An earlier planned resync
 * suffices.
 */
export function planDriftResync(
  next: Resync | undefined,
  snapshot: ApiObject,
  resyncedMs: number,
  nowMs: number,
): Resync {
  const dueMs = Math.max(nowMs, resyncedMs + DRIFT_EVERY_MS);
  if (next === undefined) return { ...createResync(snapshot, dueMs), isForDrift: true };
  return { ...next, snapshot, dueMs: Math.min(next.dueMs, dueMs), reason: "refresh" };
}

/** Returns the next task without a resync for drift that was our own write, seen before its report. */
export function dropOwnDrift(
  next: Task | undefined,
  fingerprint: string | undefined,
  { written }: EntryHistory,
): Task | undefined {
  return next?.queue === "look" && next.isForDrift && fingerprint === written ? undefined : next;
}

/** Plans the resync after a failed one, unless that was the last try. */
export function retryResync(
  failed: Resync,
  { failedResyncs }: EntryHistory,
  { dueMs, wait }: Pick<Resync, "dueMs" | "wait">,
  rules: WorkRules,
): Resync | undefined {
  return isGivenUp(failedResyncs + 1, rules) ? undefined : { ...failed, dueMs, wait, isForDrift: false };
}

/** Returns the history after a resync, failed or not. */
export function recordResync(
  past: EntryHistory,
  resyncedMs: number,
  hasFailed: boolean,
  rules: WorkRules,
): EntryHistory {
  const failedLooks = hasFailed && !isGivenUp(past.failedResyncs + 1, rules) ? past.failedResyncs + 1 : 0;
  return { ...past, resyncedMs: resyncedMs, failedResyncs: failedLooks };
}

function isGivenUp(failedLooks: number, { resyncPolicy }: WorkRules): boolean {
  return failedLooks >= MAX_RESYNCS && resyncPolicy?.whenRelatedChange !== true;
}

/**
 * Returns the entry after a related object has changed. An object that waits for another answer becomes due.
 * One without work is resynced if that is a reason. One in flight follows when it is back.
 */
export function requeue(entry: Entry, nowMs: number): Entry {
  const { phase, kept } = entry;
  const { next } = phase;
  if (next?.queue !== "work" && kept === undefined) return entry;
  if (phase.kind === "in-flight") return { ...entry, phase: { ...phase, isRequeued: true } };
  if (next?.queue === "work") {
    if (!isEndedByRelated(next.wait)) return entry;
    return { ...entry, phase: replaceNext(phase, { ...next, dueMs: Math.min(next.dueMs, nowMs) }) };
  }
  if (kept === undefined) return entry;
  return { ...entry, phase: replaceNext(phase, planRelatedResync(next, kept, nowMs)) };
}

/**
 * Returns the entry with a resync of that snapshot if it needs no work and is not in flight; an earlier
 * resync stays.
 */
export function requestResync(entry: Entry, snapshot: ApiObject, dueMs: number): Entry {
  const { phase } = entry;
  if (phase.next?.queue === "work" || phase.kind === "lost") return entry;
  // A resync for related objects does not check everything.
  const isLookedAt =
    phase.kind === "in-flight" && (phase.task.queue === "work" || phase.task.reason === "refresh");
  if (isLookedAt) return entry;
  const look: Resync =
    phase.next === undefined
      ? createResync(snapshot, dueMs)
      : { ...phase.next, snapshot, dueMs: Math.min(phase.next.dueMs, dueMs), reason: "refresh" };
  return { ...entry, phase: replaceNext(phase, look) };
}

/**
 * Returns the entry of an object that no event can carry: tried again when it has changed, or after a long
 * time; never resynced.
 */
export function markTooLarge(entry: Entry, nowMs: number): Entry {
  const { phase } = entry;
  if (phase.kind !== "due") return entry;
  if (phase.next.queue === "look") return { ...entry, phase: createFreePhase(undefined) };
  const departure = getWaitEnd("too-large", 1, { fromMs: nowMs, draw: 0 });
  const { fingerprint, demand } = phase.next;
  const tried = { fingerprint, demand, atMs: nowMs };
  return { ...entry, phase: createFreePhase({ ...phase.next, ...departure, wait: "too-large", tried }) };
}
