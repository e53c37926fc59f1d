import type { ApiObject } from "#core/controller.ts";
import { compareResourceVersions, isOlderVersion } from "#kube/follow/resource-version.ts";
import { woken } from "#relay/work/asked.ts";
import { type Entry, followedBy, free, isNewDeletion, type Past, type Work } from "#relay/work/entry.ts";
import type { Rules } from "#relay/work/looking.ts";
import { driftLook, isDrift, secondLook } from "#relay/work/looking.ts";
import type { ObservedObject } from "#relay/work/observed.ts";
import { isUndone, withoutRounds, withRound } from "#relay/work/undoing.ts";
import { endOfWait } from "#relay/work/waits.ts";

/** What changed where decisions look is tried again this soon after the last time. */
const TRY_AGAIN_MS = 1_000;

/** Whether the version tells of a time before what is known already, or before our own last write. */
export function isStale({ phase, version: shown }: Entry, version: string): boolean {
  if (phase.kind === "unconfirmed" && isOlderVersion(version, phase.version)) return true;
  return shown !== undefined && isOlderVersion(version, shown);
}

/** Whether the watch has yet to show the version. */
export function isNews({ version: shown }: Entry, version: string): boolean {
  return shown === undefined || (compareResourceVersions(version, shown) ?? 1) > 0;
}

/** The entry after the watch, or a read, has shown a version that is not stale. */
export function seen(
  entry: Entry,
  observed: ObservedObject,
  version: string,
  nowMs: number,
  rules: Rules,
): Entry {
  const phase = entry.phase.kind === "unconfirmed" ? free(entry.phase.next) : entry.phase;
  const isOurs = entry.phase.kind === "unconfirmed" && entry.phase.version === version;
  const kept = observed.followsRelated === true ? observed.snapshot : undefined;
  const shown = refreshed({ ...entry, version, kept, phase }, observed.snapshot);
  if (observed.needsWork) return seenNeeding(shown, observed, isOurs, nowMs);
  const done = seenDone(shown, observed, nowMs, rules);
  // What changed before it was followed, or while it waited for work that others have done, was told to nobody.
  const isUntold = entry.kept === undefined || (phase.kind !== "in-flight" && phase.next?.queue === "work");
  return kept !== undefined && isUntold ? woken(done, nowMs) : done;
}

function seenNeeding(entry: Entry, observed: ObservedObject, isOurs: boolean, nowMs: number): Entry {
  const { phase, past } = entry;
  const { fingerprint, undoneBy, demand, afterMs = 0 } = observed;
  if (phase.next?.queue === "work") {
    const { tried } = phase.next;
    // What our own write made of the object is no news to the invocation that wrote it.
    const known = isOurs && tried !== undefined ? { tried: { ...tried, demand } } : {};
    const work = sooner(
      hurried({ ...phase.next, ...known, fingerprint, demand, undoneBy }, past, nowMs),
      observed,
      nowMs,
    );
    return { ...entry, fingerprint: undefined, phase: followedBy(phase, work) };
  }
  const fresh: Work = {
    queue: "work",
    snapshot: observed.snapshot,
    dueMs: nowMs + afterMs,
    earliestMs: nowMs + afterMs,
    wait: undefined,
    fingerprint,
    demand,
    tried: undefined,
    mayBeDone: false,
    undoneBy,
  };
  const needing = { ...entry, fingerprint: undefined };
  // Done and undone while our own work is in flight: its report says whether that was ours, and is late.
  if (phase.kind === "in-flight" && phase.task.queue === "work")
    return { ...needing, phase: followedBy(phase, fresh) };
  if (!isUndone(past, nowMs) || isNewDeletion(past, observed.snapshot))
    return { ...needing, past: withoutRounds(past), phase: followedBy(phase, fresh) };
  return undone(needing, fresh, nowMs);
}

/** The entry with work that is there again because somebody undid ours. */
export function undone(entry: Entry, work: Work, nowMs: number): Entry {
  if (isNewDeletion(entry.past, work.snapshot))
    return { ...entry, past: withoutRounds(entry.past), phase: followedBy(entry.phase, atOnce(work, nowMs)) };
  const past = withRound(entry.past);
  const departure = endOfWait("undone", past.undoneRounds, { fromMs: nowMs, draw: 0 });
  return { ...entry, past, phase: followedBy(entry.phase, { ...work, ...departure, wait: "undone" }) };
}

/**
 * Returns work that is due sooner where it has changed since it was tried: waiting out the old answer's time would be a wait for
 * nothing. A deletion that was not tried yet waits for nothing at all.
 */
export function hurried(work: Work, past: Past, nowMs: number): Work {
  if (isNewDeletion(past, work.snapshot)) return atOnce(work, nowMs);
  if (work.tried === undefined || past.undoneRounds > 0) return work;
  if (work.tried.fingerprint === work.fingerprint && work.tried.demand === work.demand) return work;
  return { ...work, dueMs: Math.min(work.dueMs, Math.max(nowMs, work.tried.atMs + TRY_AGAIN_MS)) };
}

function atOnce(work: Work, nowMs: number): Work {
  return {
    ...work,
    dueMs: Math.min(work.dueMs, nowMs),
    earliestMs: Math.min(work.earliestMs, nowMs),
  };
}

/** Work that was never tried, and need not wait any more: what was to be looked at later is to be done at once by now. */
function sooner(work: Work, { afterMs }: ObservedObject, nowMs: number): Work {
  if (work.tried !== undefined || afterMs === undefined || work.dueMs <= nowMs + afterMs) return work;
  return { ...work, dueMs: nowMs + afterMs, earliestMs: nowMs + afterMs };
}

function seenDone(entry: Entry, observed: ObservedObject, nowMs: number, rules: Rules): Entry {
  const { phase, past } = entry;
  const { fingerprint, snapshot } = observed;
  if (phase.next?.queue === "work" && phase.next.mayBeDone && phase.kind !== "in-flight") {
    return changedByUs({ ...entry, fingerprint }, snapshot, nowMs, rules);
  }
  const look = phase.next?.queue === "look" ? phase.next : undefined;
  const next = isDrift(fingerprint, entry.fingerprint, past)
    ? driftLook(look, snapshot, lookedMs(entry), nowMs)
    : look;
  return { ...entry, fingerprint, phase: followedBy(phase, next) };
}

/** The entry after a flight of ours has changed the object: whoever acts on an older state may yet undo it, and a look tells. */
export function changedByUs(entry: Entry, snapshot: ApiObject, nowMs: number, rules: Rules): Entry {
  const next = secondLook(rules, snapshot, nowMs);
  const changedMs = rules.monitors === true ? entry.past.changedMs : nowMs;
  const past = { ...entry.past, failures: 0, failedLooks: 0, changedMs };
  return { ...entry, past, phase: followedBy(entry.phase, next) };
}

/** The entry of an object whose versions so far compare with nothing that follows. */
export function withoutVersions(entry: Entry): Entry {
  const { phase } = entry;
  const of = (): Entry["phase"] => {
    if (phase.kind === "unconfirmed") return free(phase.next);
    return phase.kind === "in-flight" ? { ...phase, isOfThePast: true } : phase;
  };
  return { ...entry, version: undefined, phase: of() };
}

/** When the last look was made, or is being made. */
function lookedMs({ phase, past }: Entry): number {
  return phase.kind === "in-flight" && phase.task.queue === "look" ? phase.startedMs : past.lookedMs;
}

/** The entry with a newer snapshot, wherever it had one. */
function refreshed(entry: Entry, snapshot: ApiObject): Entry {
  const { phase } = entry;
  const next = phase.next === undefined ? undefined : { ...phase.next, snapshot };
  const followed = followedBy(phase, next);
  if (followed.kind !== "in-flight") return { ...entry, phase: followed };
  return { ...entry, phase: { ...followed, task: { ...followed.task, snapshot } } };
}
