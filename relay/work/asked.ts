import type { ApiObject } from "#core/controller.ts";
import { type Entry, followedBy, free, type Look } from "#relay/work/entry.ts";
import { endOfWait, endsWithRelated } from "#relay/work/waits.ts";

/** The entry after a related object has changed: what waits for another answer is due, or will be when it is back. */
export function woken(entry: Entry, nowMs: number): Entry {
  const { phase } = entry;
  if (phase.next?.queue !== "work") return entry;
  if (phase.kind === "in-flight") return { ...entry, phase: { ...phase, isWoken: true } };
  if (!endsWithRelated(phase.next.wait)) return entry;
  const next = { ...phase.next, dueMs: Math.min(phase.next.dueMs, nowMs) };
  return { ...entry, phase: followedBy(phase, next) };
}

/** The entry with a look at that snapshot, where it needs no work and nobody is at it; one that comes sooner stays. */
export function withLook(entry: Entry, snapshot: ApiObject, dueMs: number): Entry {
  const { phase } = entry;
  if (phase.next?.queue === "work" || phase.kind === "in-flight" || phase.kind === "lost") return entry;
  const look: Look =
    phase.next === undefined
      ? { queue: "look", snapshot, dueMs, isForDrift: false }
      : { ...phase.next, snapshot, dueMs: Math.min(phase.next.dueMs, dueMs) };
  return { ...entry, phase: followedBy(phase, look) };
}

/** The entry of an object that no event can carry: tried again when it has changed, or after long; not looked at. */
export function tooLarge(entry: Entry, nowMs: number): Entry {
  const { phase } = entry;
  if (phase.kind !== "due") return entry;
  if (phase.next.queue === "look") return { ...entry, phase: free(undefined) };
  const departure = endOfWait("too-large", 1, { fromMs: nowMs, draw: 0 });
  const tried = { fingerprint: phase.next.fingerprint, atMs: nowMs };
  return { ...entry, phase: free({ ...phase.next, ...departure, wait: "too-large", tried }) };
}
