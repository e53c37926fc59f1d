import type { ObjectHint } from "#core/event.ts";
import type { ApiObject, Watch } from "#core/watch.ts";
import { applyObserved, dropVersions, isStale, type ObservedObject } from "#relay/work/apply-observed.ts";
import { createEntries } from "#relay/work/entries.ts";
import {
  buildConflictHint,
  createEntry,
  detectConflict,
  type Entry,
  type EntryHistory,
  type InFlight,
  type Task,
} from "#relay/work/entry.ts";
import { startTask } from "#relay/work/in-flight.ts";
import { markTooLarge, requestResync, requeue, type WorkRules } from "#relay/work/resync.ts";
import { applyTimeout, isHalved, settleEntry } from "#relay/work/settle.ts";
import type {
  Conflict,
  ObjectIdentity,
  ObjectVersion,
  PendingCounts,
  Queue,
  ReadyObject,
  Settlement,
} from "#relay/work/types.ts";

/**
 * The pending work of one controller on the objects of one cluster, level-triggered. It does no I/O and has no
 * clock: times are arguments, in milliseconds. It holds only objects that exist, so the API server's list bounds it.
 */
export interface Pending {
  /**
   * Records the observed state of an object. Returns a conflict once, when another writer keeps undoing our work
   * on it.
   */
  applied(observed: ObservedObject, key: ObjectVersion, nowMs: number): Conflict | undefined;
  /**
   * Removes an object. Returns its invocation if no other object of that invocation exists, so that the caller can
   * abandon it.
   */
  deleted(uid: string): number | undefined;
  /** Records that earlier versions cannot be compared with later ones. */
  restarted(): void;
  /**
   * Schedules a resync of an object that needs no work, with this snapshot, at a random time within `spreadMs`.
   */
  requestResync(key: ObjectVersion, snapshot: ApiObject, nowMs: number, spreadMs: number): void;
  /**
   * Handles a change of a related object. An object that waits because of its report becomes due. An object that
   * needs no work is resynced if its policy says so. An object in flight becomes due after its report.
   */
  requeue(uid: string, nowMs: number): void;
  /** Calls `requeue` for all objects because what they waited for has ended. */
  requeueAll(nowMs: number): void;
  /** Moves due objects to their queue. Returns the objects whose newest state must be read. */
  advance(nowMs: number): readonly ObjectIdentity[];
  nextMs(): number | undefined;
  has(uid: string): boolean;
  /** Returns what could be sent now. Without `nowMs`, deletion candidates count as waiting for 0 s. */
  ready(queue: Queue, nowMs?: number): IterableIterator<ReadyObject>;
  /** Returns how many objects are ready, and when the first and the last became ready, in milliseconds. */
  queue(queue: Queue): { readonly ready: number; readonly oldestMs: number; readonly newestMs: number };
  /**
   * Marks these objects as in flight together until `settle`. `invocation` is a number that the caller never uses
   * again.
   */
  start(uids: readonly string[], invocation: number, nowMs: number): void;
  /** Takes one settlement for each uid given to `start`, in their order. Returns conflicts like `applied`. */
  settle(invocation: number, settlements: readonly Settlement[], nowMs: number): readonly Conflict[];
  /** Removes a ready object from its queue, because its current state is too large for an event. */
  giveUp(uid: string, nowMs: number): void;
  counts(): PendingCounts;
}

/** Creates an empty set for a controller; `random` is uniform in [0, 1). */
export function createPending(watch: Pick<Watch, "rechecks">, random: () => number): Pending {
  const rules: WorkRules = {
    resyncPolicy: watch.rechecks?.resync,
    monitors: watch.rechecks?.monitor !== undefined,
    random,
  };
  const entries = createEntries();
  const invocations = createInvocationTracker();

  function change(uid: string, nowMs: number, step: (entry: Entry) => Entry): void {
    const entry = entries.get(uid);
    if (entry !== undefined) entries.put(step(entry), nowMs);
  }

  return {
    applied(observed, key, nowMs) {
      const entry = entries.get(key.uid) ?? createEntry(key, invocations.restoreObject(key.uid));
      if (isStale(entry, key.resourceVersion)) return undefined;
      const after = applyObserved(entry, observed, key.resourceVersion, nowMs, rules);
      entries.put(after, nowMs);
      return detectConflict(entry, after);
    },
    deleted(uid) {
      const phase = entries.remove(uid)?.phase;
      return phase?.kind === "in-flight" ? invocations.removeObject(uid, phase) : undefined;
    },
    restarted() {
      invocations.invalidateVersions();
      // Entries that waited for a version are checked at the next `advance`.
      for (const entry of entries.all()) entries.put(dropVersions(entry), Number.NEGATIVE_INFINITY);
    },
    requestResync(key, snapshot, nowMs, spreadMs) {
      if (rules.resyncPolicy === undefined) return;
      const dueMs = nowMs + random() * spreadMs;
      change(key.uid, nowMs, (entry) =>
        isStale(entry, key.resourceVersion) ? entry : requestResync(entry, snapshot, dueMs),
      );
    },
    requeue: (uid, nowMs) => change(uid, nowMs, (entry) => requeue(entry, nowMs)),
    requeueAll(nowMs) {
      for (const entry of entries.all()) entries.put(requeue(entry, nowMs), nowMs);
    },
    advance(nowMs) {
      const waited = entries.due(nowMs);
      for (const entry of waited) entries.put(applyTimeout(entry, nowMs), nowMs);
      return waited.filter(({ phase }) => phase.kind === "unconfirmed");
    },
    nextMs: () => entries.nextMs(),
    has: (uid) => entries.get(uid) !== undefined,
    queue: (queue) => entries.queues.waiting(queue),
    *ready(queue, nowMs = Number.NEGATIVE_INFINITY) {
      for (const [uid, sinceMs] of entries.queues.uids(queue)) {
        const entry = entries.get(uid);
        if (entry?.phase.kind === "due") yield toReadyObject(entry, entry.phase.next, sinceMs, nowMs);
      }
    },
    start(uids, invocation, nowMs) {
      let living = 0;
      for (const uid of uids) {
        const entry = entries.get(uid);
        if (entry?.phase.kind !== "due") continue;
        const { next } = entry.phase;
        const sinceMs = entries.queues.sinceMs(uid, next.queue) ?? nowMs;
        entries.put(startTask(entry, next, invocation, sinceMs, nowMs), nowMs);
        living += 1;
      }
      invocations.begin(invocation, uids, living);
    },
    settle(invocation, settlements, nowMs) {
      const uids = invocations.end(invocation);
      const draws = [random(), random()] as const;
      const reported: Conflict[] = [];
      for (const [index, uid] of uids.entries()) {
        const entry = entries.get(uid);
        const settlement = settlements[index] ?? UNKNOWN;
        if (entry?.phase.kind !== "in-flight" || entry.phase.invocation !== invocation) continue;
        const draw = draws[isHalved(entry) && index * 2 >= uids.length ? 1 : 0];
        const after = settleEntry({ ...entry, phase: entry.phase }, settlement, { nowMs, draw, rules });
        if (settlement.kind === "refused" && after.phase.kind === "due" && after.phase.next.dueMs <= nowMs) {
          entries.queues.giveBack(uid, after.phase.next.queue, entry.phase.sinceMs);
        }
        entries.put(after, nowMs);
        const undone = detectConflict(entry, after);
        if (undone !== undefined) reported.push(undone);
      }
      return reported;
    },
    giveUp: (uid, nowMs) => change(uid, nowMs, (entry) => markTooLarge(entry, nowMs)),
    counts: () => entries.counts(),
  };
}

/** The settlement of an object that is missing in the settlements of its invocation. */
const UNKNOWN: Settlement = { kind: "failed", settleMs: 0 };

/** Returns the content of an entry that is sent at this time, in milliseconds. */
function toReadyObject(
  { uid, namespace, name, history }: Entry,
  task: Task,
  sinceMs: number,
  nowMs: number,
): ReadyObject {
  const again = task.queue === "work" && task.wait !== undefined;
  const ready = {
    uid,
    namespace,
    name,
    snapshot: task.snapshot,
    again,
    sinceMs,
    hint: buildHint(history, task, nowMs),
  };
  return task.queue === "look" ? { ...ready, resyncReason: task.reason } : ready;
}

function buildHint(past: EntryHistory, task: Task, nowMs: number): ObjectHint | undefined {
  const hint: ObjectHint = {
    ...(task.queue === "work" ? buildConflictHint(past, task) : {}),
    ...(past.reportedWarnings === undefined ? {} : { said: [...past.reportedWarnings] }),
    ...(past.candidates === undefined ? {} : { candidates: getCandidates(past.candidates, nowMs) }),
  };
  return Object.keys(hint).length === 0 ? undefined : hint;
}

function getCandidates(candidates: ReadonlyMap<string, number>, nowMs: number): ObjectHint["candidates"] {
  return [...candidates].map(([id, sinceMs]) => ({ id, seconds: Math.max(0, nowMs - sinceMs) / 1_000 }));
}

/** Tracks which objects each invocation carries, and whether its result is still needed. */
interface InvocationTracker {
  /** Records an invocation; only the `started` objects are in flight by it. */
  begin(invocation: number, uids: readonly string[], started: number): void;
  /** Ends an invocation and returns all the objects that it was sent with. */
  end(invocation: number): readonly string[];
  /** Records that an object is gone. Returns the invocation if that was its last object. */
  removeObject(uid: string, phase: InFlight): number | undefined;
  /** Records that versions in the reports of these invocations cannot be compared with later ones. */
  invalidateVersions(): void;
  /** Returns the invocation of an object that seemed gone and came back before that was settled. */
  restoreObject(uid: string): InFlight | undefined;
}

interface TrackedInvocation {
  readonly uids: readonly string[];
  living: number;
}

/** Creates a tracker, which remembers only what is in flight. */
function createInvocationTracker(): InvocationTracker {
  const invocations = new Map<number, TrackedInvocation>();
  const gone = new Map<string, InFlight>();
  return {
    begin(invocation, uids, started) {
      invocations.set(invocation, { uids, living: started });
    },
    end(invocation) {
      const uids = invocations.get(invocation)?.uids ?? [];
      invocations.delete(invocation);
      for (const uid of uids) if (gone.get(uid)?.invocation === invocation) gone.delete(uid);
      return uids;
    },
    removeObject(uid, phase) {
      const invocation = invocations.get(phase.invocation);
      if (invocation === undefined) return undefined;
      gone.set(uid, phase);
      invocation.living -= 1;
      return invocation.living === 0 ? phase.invocation : undefined;
    },
    invalidateVersions() {
      for (const [uid, phase] of gone) gone.set(uid, { ...phase, isOutdated: true });
    },
    restoreObject(uid) {
      const phase = gone.get(uid);
      const invocation = phase === undefined ? undefined : invocations.get(phase.invocation);
      if (phase === undefined || invocation === undefined) return undefined;
      gone.delete(uid);
      invocation.living += 1;
      return { ...phase, next: undefined };
    },
  };
}
