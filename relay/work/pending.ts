import type { ApiObject, Watch } from "#core/controller.ts";
import { applyObserved, dropVersions, isStale } from "#relay/work/apply-observed.ts";
import { detectConflict } from "#relay/work/conflict-detection.ts";
import { createEntries } from "#relay/work/entries.ts";
import { createEntry, type Entry } from "#relay/work/entry.ts";
import { startTask } from "#relay/work/in-flight.ts";
import { createInvocationTracker } from "#relay/work/invocation-tracker.ts";
import type { ObservedObject } from "#relay/work/observed.ts";
import { toReadyObject } from "#relay/work/ready-object.ts";
import { markTooLarge, requestResync, requeue } from "#relay/work/requeue.ts";
import type { WorkRules } from "#relay/work/resync.ts";
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
 * What one controller must do for the objects of one cluster, level-triggered. It does no I/O and has no
 * clock: times are arguments, in milliseconds. The API server's list bounds it, because an object that is
 * gone is in no map.
 */
export interface Pending {
  /**
   * Takes an object as it was observed. Returns a conflict once, when another writer keeps undoing our work
   * on it.
   */
  applied(observed: ObservedObject, key: ObjectVersion, nowMs: number): Conflict | undefined;
  /**
   * Removes an object. Returns the invocation that carries no living object any more because of it, so that
   * it can be abandoned.
   */
  deleted(uid: string): number | undefined;
  /** Records that earlier versions cannot be compared with later ones. */
  restarted(): void;
  /**
   * Schedules a resync of an object without work, whose snapshot is at hand, between now and `spreadMs`
   * later.
   */
  requestResync(key: ObjectVersion, snapshot: ApiObject, nowMs: number, spreadMs: number): void;
  /**
   * Handles a change of a related object. An object that waits as its report said becomes due. One without
   * work is resynced if that is a reason. One in flight follows after its report.
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
   * Marks these objects as in flight together until `settle`. `flight` is a number that the caller never uses
   * again.
   */
  start(uids: readonly string[], invocation: number, nowMs: number): void;
  /** Takes one settlement for each uid given to `start`, in their order. Returns conflicts like `applied`. */
  settle(invocation: number, settlements: readonly Settlement[], nowMs: number): readonly Conflict[];
  /** Takes out a ready object whose current state no event can carry. */
  giveUp(uid: string, nowMs: number): void;
  counts(): PendingCounts;
}

/** Creates an empty set; `resyncPolicy` is the controller's. `random` is uniform in [0, 1). */
export function createPending(
  watch: Pick<Watch, "resyncPolicy" | "monitorPolicy">,
  random: () => number,
): Pending {
  const rules: WorkRules = {
    resyncPolicy: watch.resyncPolicy,
    monitors: watch.monitorPolicy !== undefined,
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
      const entry = entries.get(key.uid) ?? createEntry(key, invocations.returned(key.uid));
      if (isStale(entry, key.resourceVersion)) return undefined;
      const after = applyObserved(entry, observed, key.resourceVersion, nowMs, rules);
      entries.put(after, nowMs);
      return detectConflict(entry, after);
    },
    deleted(uid) {
      const phase = entries.remove(uid)?.phase;
      return phase?.kind === "in-flight" ? invocations.left(uid, phase) : undefined;
    },
    restarted() {
      invocations.restarted();
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

/** The settlement of an object that its invocation's settlements omit. */
const UNKNOWN: Settlement = { kind: "failed", settleMs: 0 };
