import type { ConfigError } from "#core/config-errors.ts";
import type { ApiObject, Watch, WatchContext } from "#core/watch.ts";
import { isRelatedFollower } from "#delivery/related-batch.ts";
import { compareResourceVersions, isOlderVersion } from "#kube/follow/object-key.ts";
import {
  createFreePhase,
  type Entry,
  type EntryHistory,
  isNewDeletion,
  replaceNext,
  type Work,
} from "#relay/work/entry.ts";
import {
  isDrift,
  planDriftResync,
  planRelatedResync,
  planSecondResync,
  requeue,
  type WorkRules,
} from "#relay/work/resync.ts";
import { getWaitEnd } from "#relay/work/waits.ts";

/** An object that changed in a field that decisions read is tried again this soon after the last time. */
const TRY_AGAIN_MS = 1_000;

/** Returns whether the version is older than what is known or than our own last write. */
export function isStale({ phase, version: shown }: Entry, version: string): boolean {
  if (phase.kind === "unconfirmed" && isOlderVersion(version, phase.version)) return true;
  return shown !== undefined && isOlderVersion(version, shown);
}

/** Returns whether the watch has not shown the version yet. */
export function isNews({ version: shown }: Entry, version: string): boolean {
  return shown === undefined || (compareResourceVersions(version, shown) ?? 1) > 0;
}

/** Returns the entry after the watch or a read has shown a version that is not stale. */
export function applyObserved(
  entry: Entry,
  observed: ObservedObject,
  version: string,
  nowMs: number,
  rules: WorkRules,
): Entry {
  const phase = entry.phase.kind === "unconfirmed" ? createFreePhase(entry.phase.next) : entry.phase;
  const isOurs = entry.phase.kind === "unconfirmed" && entry.phase.version === version;
  const kept = observed.followsRelated === true ? observed.snapshot : undefined;
  const shown = refreshSnapshot({ ...entry, version, kept, phase }, observed.snapshot);
  if (observed.needsWork) return applyObservedWork(shown, observed, isOurs, nowMs);
  const done = applyObservedDone(shown, observed, nowMs, rules);
  // A change that happened before the relay followed the object, or while it waited for work that others did,
  // was not reported.
  const isUntold = entry.kept === undefined || (phase.kind !== "in-flight" && phase.next?.queue === "work");
  return kept !== undefined && isUntold ? requeue(done, nowMs) : done;
}

function applyObservedWork(entry: Entry, observed: ObservedObject, isOurs: boolean, nowMs: number): Entry {
  const { phase, history } = entry;
  const { fingerprint, undoneBy, demand, afterMs = 0 } = observed;
  if (phase.next?.queue === "work") {
    const { tried } = phase.next;
    // The result of our own write is no news to the invocation that wrote it.
    const known = isOurs && tried !== undefined ? { tried: { ...tried, demand } } : {};
    const work = bringForward(
      hasten({ ...phase.next, ...known, fingerprint, demand, undoneBy }, history, nowMs),
      observed,
      nowMs,
    );
    return { ...entry, fingerprint: undefined, phase: replaceNext(phase, work) };
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
  // The work was done and undone while our own invocation is in flight. Its report arrives later and says
  // whether that was ours.
  if (phase.kind === "in-flight" && phase.task.queue === "work")
    return { ...needing, phase: replaceNext(phase, fresh) };
  if (!isUndone(history, nowMs) || isNewDeletion(history, observed.snapshot))
    return { ...needing, history: clearConflictRounds(history), phase: replaceNext(phase, fresh) };
  return applyConflict(needing, fresh, nowMs);
}

/** Returns the entry with work that is needed again because another writer undid ours. */
export function applyConflict(entry: Entry, work: Work, nowMs: number): Entry {
  if (isNewDeletion(entry.history, work.snapshot))
    return {
      ...entry,
      history: clearConflictRounds(entry.history),
      phase: replaceNext(entry.phase, makeDue(work, nowMs)),
    };
  const past = addConflictRound(entry.history);
  const departure = getWaitEnd("undone", past.conflictRounds, { fromMs: nowMs, draw: 0 });
  return {
    ...entry,
    history: past,
    phase: replaceNext(entry.phase, { ...work, ...departure, wait: "undone" }),
  };
}

/**
 * Returns work that is due sooner if it has changed since it was tried, because the wait belongs to the old
 * answer. A deletion that was not tried yet waits for nothing.
 */
export function hasten(work: Work, past: EntryHistory, nowMs: number): Work {
  if (isNewDeletion(past, work.snapshot)) return makeDue(work, nowMs);
  if (work.tried === undefined || past.conflictRounds > 0) return work;
  if (work.tried.fingerprint === work.fingerprint && work.tried.demand === work.demand) return work;
  return { ...work, dueMs: Math.min(work.dueMs, Math.max(nowMs, work.tried.atMs + TRY_AGAIN_MS)) };
}

function makeDue(work: Work, nowMs: number): Work {
  return {
    ...work,
    dueMs: Math.min(work.dueMs, nowMs),
    earliestMs: Math.min(work.earliestMs, nowMs),
  };
}

/** Returns never-tried work that becomes due now because its wait has lost its reason. */
function bringForward(work: Work, { afterMs }: ObservedObject, nowMs: number): Work {
  if (work.tried !== undefined || afterMs === undefined || work.dueMs <= nowMs + afterMs) return work;
  return { ...work, dueMs: nowMs + afterMs, earliestMs: nowMs + afterMs };
}

function applyObservedDone(entry: Entry, observed: ObservedObject, nowMs: number, rules: WorkRules): Entry {
  const { phase, history } = entry;
  const { fingerprint, snapshot, announcement = entry.announced } = observed;
  if (phase.next?.queue === "work" && phase.next.mayBeDone && phase.kind !== "in-flight") {
    return applyOwnChange({ ...entry, fingerprint }, snapshot, nowMs, rules);
  }
  const look = phase.next?.queue === "look" ? phase.next : undefined;
  if (announcement !== entry.announced) {
    const next = planRelatedResync(look, snapshot, nowMs);
    return { ...entry, fingerprint, announced: announcement, phase: replaceNext(phase, next) };
  }
  const next = isDrift(fingerprint, entry.fingerprint, history)
    ? planDriftResync(look, snapshot, getResyncedMs(entry), nowMs)
    : look;
  return { ...entry, fingerprint, phase: replaceNext(phase, next) };
}

/**
 * Returns the entry after our invocation has changed the object. A writer that acts on an older state may
 * still undo it; a resync checks that.
 */
export function applyOwnChange(entry: Entry, snapshot: ApiObject, nowMs: number, rules: WorkRules): Entry {
  const next = planSecondResync(rules, snapshot, nowMs);
  const changedMs = rules.monitors === true ? entry.history.changedMs : nowMs;
  const past = { ...entry.history, failures: 0, failedResyncs: 0, changedMs };
  return { ...entry, history: past, phase: replaceNext(entry.phase, next) };
}

/** Returns the entry of an object whose earlier versions cannot be compared with later ones. */
export function dropVersions(entry: Entry): Entry {
  const { phase } = entry;
  const of = (): Entry["phase"] => {
    if (phase.kind === "unconfirmed") return createFreePhase(phase.next);
    return phase.kind === "in-flight" ? { ...phase, isOutdated: true } : phase;
  };
  return { ...entry, version: undefined, phase: of() };
}

/** Returns when the last resync was made, or is being made. */
function getResyncedMs({ phase, history }: Entry): number {
  return phase.kind === "in-flight" && phase.task.queue === "look" ? phase.startedMs : history.resyncedMs;
}

/** Returns the entry with a newer snapshot wherever it had one. */
function refreshSnapshot(entry: Entry, snapshot: ApiObject): Entry {
  const { phase } = entry;
  const next = phase.next === undefined ? undefined : { ...phase.next, snapshot };
  const followed = replaceNext(phase, next);
  if (followed.kind !== "in-flight") return { ...entry, phase: followed };
  return { ...entry, phase: { ...followed, task: { ...followed.task, snapshot } } };
}

/** An object as a controller's watch half sees it. */
export interface ObservedObject {
  readonly kind: "object";
  readonly needsWork: boolean;
  readonly snapshot: ApiObject;
  /**
   * The fields that are watched for drift, as one text; undefined if the controller neither resyncs nor
   * monitors.
   */
  readonly fingerprint: string | undefined;
  /**
   * What the object requests, as one text; undefined if it needs no work or the controller does not define
   * it.
   */
  readonly demand?: string | undefined;
  /** What the object announces, if it needs no work and announces anything. */
  readonly announcement?: string | undefined;
  /** Whether a change of the related objects that it reads causes a resync although it needs no work. */
  readonly followsRelated?: true;
  /** Milliseconds until the first try, if the object needs work. */
  readonly afterMs?: number | undefined;
  /**
   * The field manager, other than ours, that last wrote the fields that our work changes. Read only if the
   * object needs work.
   */
  readonly undoneBy: string | undefined;
}

/** What the relay derives from an object that it is shown. */
export type Observed =
  | ObservedObject
  | { readonly kind: "malformed"; readonly faults: readonly ConfigError[] };

/** Parses an object and returns it as a controller sees it. */
export function observe(watch: Watch, object: unknown, context: WatchContext): Observed {
  const { parsed, snapshots } = parseOnce(watch.parse, object, context);
  if (parsed.kind === "malformed") return { kind: "malformed", faults: parsed.faults };
  const needsWork = watch.needsWork(parsed.object, context);
  const monitored = needsWork ? watch.rechecks?.monitor : undefined;
  const snapshot = snapshots.get(watch.snapshot) ?? watch.snapshot(parsed.object, context);
  snapshots.set(watch.snapshot, snapshot);
  return {
    kind: "object",
    needsWork,
    snapshot,
    fingerprint: watch.rechecks?.resync?.fingerprint(parsed.object) ?? monitored?.fingerprint(parsed.object),
    demand: needsWork ? watch.rechecks?.demand?.(parsed.object, context) : undefined,
    announcement: needsWork ? undefined : watch.rechecks?.announcement?.(parsed.object),
    undoneBy: needsWork ? watch.rechecks?.findConflictingManager?.(object) : undefined,
    ...(isRelatedFollower(watch, parsed.object) ? { followsRelated: true as const } : {}),
    ...(monitored === undefined ? {} : { afterMs: monitored.afterSeconds(parsed.object, context) * 1_000 }),
  };
}

/** An object as the controllers of a cluster share it. */
interface ParsedOnce {
  readonly object: unknown;
  readonly parse: Watch["parse"];
  readonly context: WatchContext;
  readonly parsed: ReturnType<Watch["parse"]>;
  readonly snapshots: Map<Watch["snapshot"], ApiObject>;
}

let latest: ParsedOnce | undefined;

/** Several controllers observe the same object one after another; most parse and project it in the same way. */
function parseOnce(parse: Watch["parse"], object: unknown, context: WatchContext): ParsedOnce {
  const isLatest = latest?.object === object && latest?.parse === parse && latest?.context === context;
  if (latest === undefined || !isLatest)
    latest = { object, parse, context, parsed: parse(object), snapshots: new Map() };
  return latest;
}

/** Work that is needed again this soon after we did it was undone by another writer. */
const UNDONE_WITHIN_MS = 60_000;

/** Returns whether work is needed again because another writer undid ours. */
function isUndone(past: EntryHistory, nowMs: number): boolean {
  return nowMs - past.changedMs <= UNDONE_WITHIN_MS;
}

/** Returns the history with one more round, as old as our last change. */
function addConflictRound(past: EntryHistory): EntryHistory {
  return { ...past, failures: 0, conflictRounds: past.conflictRounds + 1 };
}

/** Returns the history of an object whose work no other writer made necessary. */
function clearConflictRounds(past: EntryHistory): EntryHistory {
  return past.failures === 0 && past.conflictRounds === 0
    ? past
    : { ...past, failures: 0, conflictRounds: 0 };
}
