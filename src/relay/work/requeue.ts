import type { ApiObject } from "#core/watch.ts";
import { createFreePhase, type Entry, type Resync, replaceNext } from "#relay/work/entry.ts";
import { createResync, planRelatedResync } from "#relay/work/resync.ts";
import { getWaitEnd, isEndedByRelated } from "#relay/work/waits.ts";

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
