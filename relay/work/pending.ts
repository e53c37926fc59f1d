import type { ApiObject, Watch } from "#core/controller.ts";
import type { ObjectHint } from "#core/event.ts";
import type { ObjectReport } from "#core/report.ts";
import type { ObjectName } from "#core/resources/resource.ts";
import { compareResourceVersions, isOlderVersion } from "#kube/follow/resource-version.ts";
import { backOffMs } from "#relay/work/back-off.ts";
import type { ObservedObject } from "#relay/work/observed.ts";
import { createSchedule } from "#relay/work/schedule.ts";

/** Work that objects need, and looks at objects that need none; the second never delays the first. */
export type Lane = "work" | "look";

/** An object of one life, in one version. */
export interface SeenObject extends ObjectName {
  readonly uid: string;
  readonly resourceVersion: string;
}

/** An object of one life. */
export interface KnownObject extends ObjectName {
  readonly uid: string;
}

/** An object that may be sent. */
export interface ReadyObject extends KnownObject {
  readonly snapshot: ApiObject;
  /** Whether it was sent before, without the work being done. */
  readonly again: boolean;
  /** When it became due, in milliseconds. */
  readonly sinceMs: number;
  /** What the function is to know of it that is not on it. */
  readonly hint: ObjectHint | undefined;
}

/** What a flight came to for one object. */
export type Settlement =
  | { readonly kind: "report"; readonly report: ObjectReport }
  /** Nothing is known; somebody may be writing still for `settleMs`. */
  | { readonly kind: "failed"; readonly settleMs: number }
  /** It was never begun, and whoever invokes waits that out: back to where it was, as if it had not been sent. */
  | { readonly kind: "refused" };

/** Somebody undoes our work, again and again. */
export interface Undone extends KnownObject {
  readonly rounds: number;
  /** The field manager, as far as it is known. */
  readonly manager: string | undefined;
}

/** Counts for status and metrics. */
export interface PendingCounts {
  readonly objects: number;
  /** Objects that need work, in flight or not. */
  readonly needed: number;
  readonly inFlight: number;
  /** Objects that could be sent now. */
  readonly due: Readonly<Record<Lane, number>>;
}

/**
 * What is to be done for the objects of one cluster by one controller, level-triggered. No I/O and no clock: times
 * are arguments, in milliseconds. Bounded by what the API server lists: an object that is gone is in no map any more.
 */
export interface Pending {
  /** Answers where it has become a habit of somebody's to undo our work on it, once. */
  applied(observed: ObservedObject, key: SeenObject, nowMs: number): Undone | undefined;
  /** Answers with the flight that has no living object any more because of it: nobody waits for that. */
  deleted(uid: string): number | undefined;
  /** Versions seen so far compare with nothing that follows. */
  restarted(): void;
  /** Asks for a look at an object without work whose snapshot is at hand, between now and `spreadMs` later. */
  look(key: SeenObject, snapshot: ApiObject, nowMs: number, spreadMs: number): void;
  /** A related object changed: what waits because of an answer is due now, or as soon as it is back. */
  wake(uid: string, nowMs: number): void;
  /** Moves what has become due to its lane; answers with objects whose newest state is to be read. */
  advance(nowMs: number): readonly KnownObject[];
  nextMs(): number | undefined;
  has(uid: string): boolean;
  ready(lane: Lane): IterableIterator<ReadyObject>;
  /** How many are ready, and since when the first and the last of them, in milliseconds. */
  lane(lane: Lane): { readonly ready: number; readonly oldestMs: number; readonly newestMs: number };
  /** From here on these are in flight together, until that is settled; `flight` is a number of the caller's, never used again. */
  start(uids: readonly string[], flight: number, nowMs: number): void;
  /** One settlement for each uid that `start` was given, in their order. */
  settle(flight: number, settlements: readonly Settlement[], nowMs: number): void;
  /** A ready object that no event can carry, as it is now. */
  giveUp(uid: string, nowMs: number): void;
  counts(): PendingCounts;
}

/** A taint that is back this soon after we removed it was put back by somebody. */
const RESTORED_WITHIN_MS = 60_000;
const RESTORED_BASE_MS = 1_000;
const RESTORED_LIMIT_MS = 5 * 60_000;
const RESTORED_ROUNDS_TO_WARN = 3;

/** What Kubernetes allows for the name of a field manager. */
const MAX_MANAGER = 128;

/** How long the watch may take to show what a report says was written. */
const STALE_LIMIT_MS = 5_000;

/** The second look after an initialization comes between these two. */
const SECOND_LOOK_FROM_MS = 20_000;
const SECOND_LOOK_TO_MS = 60_000;

/** Drift of one object is looked at once in this time. */
const DRIFT_EVERY_MS = 60_000;

/** What a report calls done while the watch goes on calling it needed is asked again, ever more rarely. */
const DISAGREED_BASE_MS = 5_000;
const DISAGREED_LIMIT_MS = 5 * 60_000;

/** Looks that fail in a row are given up; the next refresh brings another. */
const MAX_LOOKS = 3;

interface Entry {
  readonly uid: string;
  readonly name: string;
  version: string | undefined;
  snapshot: ApiObject | undefined;
  /** As last seen … */
  seenFace: string | undefined;
  /** … and as last seen without work to do, by which drift is told. */
  face: string | undefined;
  /** The face as last reported to have been written. */
  written: string | undefined;
  needed: boolean;
  dueMs: number;
  again: boolean;
  failures: number;
  lookMs: number | undefined;
  lookIsForDrift: boolean;
  lookedMs: number;
  looks: number;
  changedMs: number;
  restoredRounds: number;
  /** The taint's last writer beside us, by `managedFields`. */
  taintManager: string | undefined;
  /** The version that the watch has to show, and until when it is waited for. */
  awaited: { readonly version: string; readonly untilMs: number } | undefined;
  flight:
    | { readonly lane: Lane; readonly sent: ApiObject; readonly settledMs: number | undefined }
    | undefined;
  sentFace: string | undefined;
  sentMs: number;
}

/** Nothing is pending yet; of the controller, when it looks again. `random` is uniform in [0, 1). */
export function createPending(_watch: Pick<Watch, "looks">, random: () => number): Pending {
  const entries = new Map<string, Entry>();
  const schedule = createSchedule();
  /** In order of becoming due; the value is when that was. */
  const lanes: Readonly<Record<Lane, Map<string, number>>> = { work: new Map(), look: new Map() };
  const newest: Record<Lane, number> = { work: 0, look: 0 };
  const flights = new Map<number, readonly string[]>();
  let needed = 0;
  let inFlight = 0;

  function applied(observed: ObservedObject, key: SeenObject, nowMs: number): Undone | undefined {
    const entry = entries.get(key.uid) ?? newEntry(key);
    entries.set(key.uid, entry);
    if (isStale(entry, key.resourceVersion)) return undefined;
    entry.version = key.resourceVersion;
    entry.awaited = undefined;
    const restored = observed.needsWork
      ? noteNeeded(entry, observed, nowMs)
      : noteDone(entry, observed, nowMs);
    entry.snapshot = observed.snapshot;
    entry.seenFace = observed.face;
    reschedule(entry, nowMs);
    return restored;
  }

  function noteNeeded(entry: Entry, observed: ObservedObject, nowMs: number): Undone | undefined {
    entry.face = undefined;
    entry.taintManager = observed.undoneBy;
    endLook(entry);
    if (entry.needed) {
      // It changed where decisions look: waiting out the old answer's time would be a wait for nothing.
      const differs = entry.again && entry.sentFace !== observed.face && entry.restoredRounds === 0;
      if (differs) entry.dueMs = Math.min(entry.dueMs, Math.max(nowMs, entry.sentMs + RESTORED_BASE_MS));
      return undefined;
    }
    setNeeded(entry, true);
    entry.failures = 0;
    entry.again = false;
    if (nowMs - entry.changedMs > RESTORED_WITHIN_MS) {
      entry.restoredRounds = 0;
      entry.dueMs = nowMs;
      return undefined;
    }
    noteRestored(entry, nowMs);
    if (entry.restoredRounds !== RESTORED_ROUNDS_TO_WARN) return undefined;
    const { name, uid, restoredRounds: rounds } = entry;
    return { name, uid, rounds, manager: observed.undoneBy };
  }

  function noteRestored(entry: Entry, nowMs: number): void {
    entry.restoredRounds += 1;
    entry.again = true;
    const rounds = Math.min(entry.restoredRounds - 1, 20);
    entry.dueMs = nowMs + Math.min(RESTORED_LIMIT_MS, RESTORED_BASE_MS * 2 ** rounds);
  }

  function noteDone(entry: Entry, observed: ObservedObject, nowMs: number): undefined {
    setNeeded(entry, false);
    const before = entry.face ?? entry.written;
    entry.face = observed.face;
    const drifted = before !== undefined && before !== observed.face && observed.face !== entry.written;
    if (!drifted) return;
    const atMs = Math.max(nowMs, entry.lookedMs + DRIFT_EVERY_MS);
    if (entry.lookMs !== undefined && entry.lookMs <= atMs) return;
    entry.lookIsForDrift = entry.lookMs === undefined;
    entry.lookMs = atMs;
  }

  /** Where to go from here: a lane, the schedule, or nowhere until something happens. */
  function reschedule(entry: Entry, nowMs: number): void {
    const atMs = nextStepMs(entry);
    const lane = laneOf(entry);
    if (lane === undefined && entry.flight === undefined) entry.snapshot = undefined;
    const isFree = entry.flight === undefined && entry.awaited === undefined;
    const isReady = isFree && atMs !== undefined && atMs <= nowMs && lane !== undefined;
    for (const each of LANES) if (!(isReady && each === lane)) lanes[each].delete(entry.uid);
    if (isReady) {
      schedule.delete(entry.uid);
      if (lanes[lane].has(entry.uid)) return;
      lanes[lane].set(entry.uid, nowMs);
      newest[lane] = nowMs;
    } else if (atMs === undefined) schedule.delete(entry.uid);
    else schedule.set(entry.uid, atMs);
  }

  function advance(nowMs: number): readonly KnownObject[] {
    const reads: KnownObject[] = [];
    for (const uid of schedule.due(nowMs)) {
      const entry = entries.get(uid);
      if (entry === undefined) continue;
      if (entry.flight?.settledMs !== undefined && entry.flight.settledMs <= nowMs) land(entry);
      if (entry.flight === undefined && entry.awaited !== undefined && entry.awaited.untilMs <= nowMs) {
        reads.push({ uid, name: entry.name });
        entry.awaited = { version: entry.awaited.version, untilMs: nowMs + STALE_LIMIT_MS };
      }
      reschedule(entry, nowMs);
    }
    return reads;
  }

  function startOne(uid: string, nowMs: number): void {
    const entry = entries.get(uid);
    const lane = entry === undefined ? undefined : laneOf(entry);
    if (entry?.snapshot === undefined || lane === undefined) return;
    entry.flight = { lane, sent: entry.snapshot, settledMs: undefined };
    inFlight += 1;
    entry.sentMs = nowMs;
    entry.sentFace = entry.seenFace;
    if (lane === "look") {
      endLook(entry);
      entry.lookedMs = nowMs;
      entry.looks += 1;
    }
    reschedule(entry, nowMs);
  }

  function settleOne(uid: string, settlement: Settlement | { kind: "unsendable" }, nowMs: number): void {
    const entry = entries.get(uid);
    if (entry?.flight === undefined) return;
    const { lane, sent } = entry.flight;
    if (settlement.kind === "failed" && settlement.settleMs > 0) {
      entry.flight = { lane, sent, settledMs: nowMs + settlement.settleMs };
    } else land(entry);
    const settledMs = nowMs + (settlement.kind === "failed" ? settlement.settleMs : 0);
    const wait = waitAfter(entry, settlement, lane);
    if (lane === "work") {
      entry.again = true;
      entry.dueMs = settledMs + wait;
    }
    if (settlement.kind === "report") noteReport(entry, settlement.report, lane, nowMs);
    if (lane === "work") reschedule(entry, nowMs);
    else if (wait > 0 && entry.looks < MAX_LOOKS && !entry.needed) {
      entry.lookMs = settledMs + wait;
      entry.snapshot ??= sent;
    } else entry.looks = 0;
    reschedule(entry, nowMs);
  }

  /** Milliseconds after which the object is due again, if there is still something to do; of a look 0 where there is not. */
  function waitAfter(entry: Entry, settlement: Settlement | { kind: "unsendable" }, lane: Lane): number {
    if (settlement.kind === "unsendable") return lane === "work" ? DISAGREED_LIMIT_MS : 0;
    if (settlement.kind !== "report") {
      entry.failures += 1;
      return backOffMs(entry.failures, random);
    }
    const { outcome, afterSeconds } = settlement.report;
    switch (outcome) {
      case "retry":
        entry.failures += 1;
        if (afterSeconds === undefined) return backOffMs(entry.failures, random);
        // A little apart from each other, and never at once: an answer of 0 must not become a storm.
        return Math.max(250, afterSeconds * 1000) * (1 + 0.1 * random());
      case "changed":
        entry.failures = 0;
        return 0;
      case "unchanged":
      case "skipped":
        if (lane === "look") return 0;
        entry.failures += 1;
        return Math.min(DISAGREED_LIMIT_MS, DISAGREED_BASE_MS * 2 ** Math.min(entry.failures - 1, 20));
    }
  }

  function noteReport(entry: Entry, report: ObjectReport, lane: Lane, nowMs: number): void {
    const { resourceVersion } = report;
    if (resourceVersion !== undefined && isNews(entry, resourceVersion)) {
      entry.awaited = { version: resourceVersion, untilMs: nowMs + STALE_LIMIT_MS };
    }
    if (report.seen !== undefined) {
      entry.written = report.seen;
      if (entry.lookIsForDrift && entry.face === entry.written) endLook(entry);
    }
    if (report.outcome !== "changed" || lane === "look") return;
    // What the watch showed since then may already say that the taint is back; otherwise the work counts as done.
    if (entry.awaited !== undefined || resourceVersion === undefined) setNeeded(entry, false);
    else if (entry.needed) noteRestored(entry, nowMs);
    entry.changedMs = nowMs;
    entry.looks = 0;
    entry.lookIsForDrift = false;
    entry.lookMs = nowMs + SECOND_LOOK_FROM_MS + random() * (SECOND_LOOK_TO_MS - SECOND_LOOK_FROM_MS);
  }

  function land(entry: Entry): void {
    if (entry.flight !== undefined) inFlight -= 1;
    entry.flight = undefined;
  }

  function setNeeded(entry: Entry, value: boolean): void {
    if (entry.needed !== value) needed += value ? 1 : -1;
    entry.needed = value;
  }

  return {
    applied,
    advance,
    start(uids, flight, nowMs) {
      flights.set(flight, uids);
      for (const uid of uids) startOne(uid, nowMs);
    },
    settle(flight, settlements, nowMs) {
      for (const [index, uid] of (flights.get(flight) ?? []).entries()) {
        const settlement = settlements[index];
        if (settlement !== undefined) settleOne(uid, settlement, nowMs);
      }
      flights.delete(flight);
    },
    giveUp(uid, nowMs) {
      startOne(uid, nowMs);
      settleOne(uid, { kind: "unsendable" }, nowMs);
    },
    wake(uid, nowMs) {
      const entry = entries.get(uid);
      if (entry === undefined || !entry.needed) return;
      entry.dueMs = Math.min(entry.dueMs, nowMs);
      reschedule(entry, nowMs);
    },
    deleted(uid) {
      const entry = entries.get(uid);
      if (entry === undefined) return undefined;
      setNeeded(entry, false);
      land(entry);
      entries.delete(uid);
      schedule.delete(uid);
      for (const lane of LANES) lanes[lane].delete(uid);
      return undefined;
    },
    restarted() {
      for (const entry of entries.values()) {
        entry.version = undefined;
        entry.awaited = undefined;
      }
    },
    look(key, snapshot, nowMs, spreadMs) {
      const entry = entries.get(key.uid);
      if (entry === undefined || entry.needed || entry.flight !== undefined) return;
      if (isStale(entry, key.resourceVersion)) return;
      entry.snapshot = snapshot;
      entry.lookMs = Math.min(entry.lookMs ?? Number.POSITIVE_INFINITY, nowMs + random() * spreadMs);
      reschedule(entry, nowMs);
    },
    nextMs: () => schedule.nextMs(),
    has: (uid) => entries.has(uid),
    lane(lane) {
      const [oldestMs = 0] = lanes[lane].values();
      return { ready: lanes[lane].size, oldestMs, newestMs: newest[lane] };
    },
    *ready(lane) {
      for (const [uid, sinceMs] of lanes[lane]) {
        const entry = entries.get(uid);
        if (entry?.snapshot === undefined) continue;
        const { name, snapshot, again } = entry;
        yield { uid, name, snapshot, again, sinceMs, hint: hintOf(entry) };
      }
    },
    counts: () => ({
      objects: entries.size,
      needed,
      inFlight,
      due: { work: lanes.work.size, look: lanes.look.size },
    }),
  };
}

const LANES: readonly Lane[] = ["work", "look"];

function newEntry({ uid, name }: SeenObject): Entry {
  return {
    uid,
    name,
    version: undefined,
    snapshot: undefined,
    seenFace: undefined,
    face: undefined,
    written: undefined,
    needed: false,
    dueMs: 0,
    again: false,
    failures: 0,
    lookMs: undefined,
    lookIsForDrift: false,
    lookedMs: Number.NEGATIVE_INFINITY,
    looks: 0,
    changedMs: Number.NEGATIVE_INFINITY,
    restoredRounds: 0,
    taintManager: undefined,
    awaited: undefined,
    flight: undefined,
    sentFace: undefined,
    sentMs: Number.NEGATIVE_INFINITY,
  };
}

function laneOf(entry: Entry): Lane | undefined {
  if (entry.needed) return "work";
  return entry.lookMs === undefined ? undefined : "look";
}

/** When something is next to be done with the object, if nothing is heard of it before. */
function nextStepMs(entry: Entry): number | undefined {
  if (entry.flight !== undefined) return entry.flight.settledMs;
  if (entry.awaited !== undefined) return entry.awaited.untilMs;
  return entry.needed ? entry.dueMs : entry.lookMs;
}

function hintOf({ restoredRounds, taintManager }: Entry): ObjectHint | undefined {
  if (restoredRounds < RESTORED_ROUNDS_TO_WARN) return undefined;
  return { undoneBy: (taintManager ?? "a writer without a name").slice(0, MAX_MANAGER) };
}

function endLook(entry: Entry): void {
  entry.lookMs = undefined;
  entry.lookIsForDrift = false;
}

/** Whether the version tells of a time before what is known already, or before our own last write. */
function isStale(entry: Entry, version: string): boolean {
  if (entry.awaited !== undefined && isOlderVersion(version, entry.awaited.version)) return true;
  return entry.version !== undefined && isOlderVersion(version, entry.version);
}

/** Whether the watch has yet to show the version. */
function isNews(entry: Entry, version: string): boolean {
  if (entry.version === undefined) return true;
  return (compareResourceVersions(version, entry.version) ?? 1) > 0;
}
