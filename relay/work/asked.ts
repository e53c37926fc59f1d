import type { ApiObject } from "#core/controller.ts";
import { type Entry, followedBy, free, type Look } from "#relay/work/entry.ts";
import { lookAt, relatedLook } from "#relay/work/looking.ts";
import { endOfWait, endsWithRelated } from "#relay/work/waits.ts";

/**
 * The entry after a related object has changed: what waits for another answer is due, what needs no work is looked at where that is
 * a reason to, and what is in flight when it is back.
 */
export function woken(entry: Entry, nowMs: number): Entry {
  const { phase, kept } = entry;
  const { next } = phase;
  if (next?.queue !== "work" && kept === undefined) return entry;
  if (phase.kind === "in-flight") return { ...entry, phase: { ...phase, isWoken: true } };
  if (next?.queue === "work") {
    if (!endsWithRelated(next.wait)) return entry;
    return { ...entry, phase: followedBy(phase, { ...next, dueMs: Math.min(next.dueMs, nowMs) }) };
  }
  if (kept === undefined) return entry;
  return { ...entry, phase: followedBy(phase, relatedLook(next, kept, nowMs)) };
}

/** The entry with a look at that snapshot, where it needs no work and nobody is at it; one that comes sooner stays. */
export function withLook(entry: Entry, snapshot: ApiObject, dueMs: number): Entry {
  const { phase } = entry;
  if (phase.next?.queue === "work" || phase.kind === "lost") return entry;
  // Who looks for the sake of related objects does not look at everything.
  const isLookedAt =
    phase.kind === "in-flight" && (phase.task.queue === "work" || phase.task.reason === "refresh");
  if (isLookedAt) return entry;
  const look: Look =
    phase.next === undefined
      ? lookAt(snapshot, dueMs)
      : { ...phase.next, snapshot, dueMs: Math.min(phase.next.dueMs, dueMs), reason: "refresh" };
  return { ...entry, phase: followedBy(phase, look) };
}

/** The entry of an object that no event can carry: tried again when it has changed, or after long; not looked at. */
export function tooLarge(entry: Entry, nowMs: number): Entry {
  const { phase } = entry;
  if (phase.kind !== "due") return entry;
  if (phase.next.queue === "look") return { ...entry, phase: free(undefined) };
  const departure = endOfWait("too-large", 1, { fromMs: nowMs, draw: 0 });
  const { fingerprint, demand } = phase.next;
  const tried = { fingerprint, demand, atMs: nowMs };
  return { ...entry, phase: free({ ...phase.next, ...departure, wait: "too-large", tried }) };
}
