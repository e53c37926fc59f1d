import type { ApiObject, Watch } from "#core/controller.ts";
import type { ObjectHint } from "#core/event.ts";
import type { ObjectReport } from "#core/report.ts";
import type { ObjectName } from "#core/resources/resource.ts";
import { tooLarge, withLook, woken } from "#relay/work/asked.ts";
import { createEntries } from "#relay/work/entries.ts";
import { type Entry, newEntry } from "#relay/work/entry.ts";
import { createFlights } from "#relay/work/flights.ts";
import type { Rules } from "#relay/work/looking.ts";
import type { ObservedObject } from "#relay/work/observed.ts";
import { readyObject } from "#relay/work/ready-object.ts";
import { isStale, seen, withoutVersions } from "#relay/work/seen.ts";
import { started } from "#relay/work/sent.ts";
import { isHalved, overdue, settleEntry } from "#relay/work/settled.ts";
import { undoneOf } from "#relay/work/undoing.ts";

/** Work that objects need, and looks at objects that need none; the second never delays the first. */
export type Queue = "work" | "look";

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
  /** Of a look: whether it is at everything, or for the sake of related objects alone. */
  readonly look?: "refresh" | "watch";
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
  readonly due: Readonly<Record<Queue, number>>;
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
  /**
   * A related object changed: an object that waits as its report said is due now, one that needs no work is looked at where that is a
   * reason to, and one in flight follows after its report.
   */
  wake(uid: string, nowMs: number): void;
  /** The same of all objects: what kept them waiting is over. */
  wakeAll(nowMs: number): void;
  /** Moves what has become due to its queue; answers with objects whose newest state is to be read. */
  advance(nowMs: number): readonly KnownObject[];
  nextMs(): number | undefined;
  has(uid: string): boolean;
  /** What could be sent now; without the time, deletion candidates have waited for 0 s. */
  ready(queue: Queue, nowMs?: number): IterableIterator<ReadyObject>;
  /** How many are ready, and since when the first and the last of them, in milliseconds. */
  queue(queue: Queue): { readonly ready: number; readonly oldestMs: number; readonly newestMs: number };
  /** From here on these are in flight together, until that is settled; `flight` is a number of the caller's, never used again. */
  start(uids: readonly string[], flight: number, nowMs: number): void;
  /** One settlement for each uid that `start` was given, in their order; answers as `applied` does. */
  settle(flight: number, settlements: readonly Settlement[], nowMs: number): readonly Undone[];
  /** A ready object that no event can carry, as it is now. */
  giveUp(uid: string, nowMs: number): void;
  counts(): PendingCounts;
}

/** Nothing is pending yet; of the controller, when it looks again. `random` is uniform in [0, 1). */
export function createPending(watch: Pick<Watch, "looks" | "monitors">, random: () => number): Pending {
  const rules: Rules = { looks: watch.looks, monitors: watch.monitors !== undefined, random };
  const entries = createEntries();
  const flights = createFlights();

  function change(uid: string, nowMs: number, step: (entry: Entry) => Entry): void {
    const entry = entries.get(uid);
    if (entry !== undefined) entries.put(step(entry), nowMs);
  }

  return {
    applied(observed, key, nowMs) {
      const entry = entries.get(key.uid) ?? newEntry(key, flights.returned(key.uid));
      if (isStale(entry, key.resourceVersion)) return undefined;
      const after = seen(entry, observed, key.resourceVersion, nowMs, rules);
      entries.put(after, nowMs);
      return undoneOf(entry, after);
    },
    deleted(uid) {
      const phase = entries.remove(uid)?.phase;
      return phase?.kind === "in-flight" ? flights.left(uid, phase) : undefined;
    },
    restarted() {
      flights.restarted();
      // What waited for a version is looked at when the next time is told.
      for (const entry of entries.all()) entries.put(withoutVersions(entry), Number.NEGATIVE_INFINITY);
    },
    look(key, snapshot, nowMs, spreadMs) {
      if (rules.looks === undefined) return;
      const dueMs = nowMs + random() * spreadMs;
      change(key.uid, nowMs, (entry) =>
        isStale(entry, key.resourceVersion) ? entry : withLook(entry, snapshot, dueMs),
      );
    },
    wake: (uid, nowMs) => change(uid, nowMs, (entry) => woken(entry, nowMs)),
    wakeAll(nowMs) {
      for (const entry of entries.all()) entries.put(woken(entry, nowMs), nowMs);
    },
    advance(nowMs) {
      const waited = entries.due(nowMs);
      for (const entry of waited) entries.put(overdue(entry, nowMs), nowMs);
      return waited.filter(({ phase }) => phase.kind === "unconfirmed");
    },
    nextMs: () => entries.nextMs(),
    has: (uid) => entries.get(uid) !== undefined,
    queue: (queue) => entries.queues.waiting(queue),
    *ready(queue, nowMs = Number.NEGATIVE_INFINITY) {
      for (const [uid, sinceMs] of entries.queues.uids(queue)) {
        const entry = entries.get(uid);
        if (entry?.phase.kind === "due") yield readyObject(entry, entry.phase.next, sinceMs, nowMs);
      }
    },
    start(uids, flight, nowMs) {
      let living = 0;
      for (const uid of uids) {
        const entry = entries.get(uid);
        if (entry?.phase.kind !== "due") continue;
        const { next } = entry.phase;
        const sinceMs = entries.queues.sinceMs(uid, next.queue) ?? nowMs;
        entries.put(started(entry, next, flight, sinceMs, nowMs), nowMs);
        living += 1;
      }
      flights.begin(flight, uids, living);
    },
    settle(flight, settlements, nowMs) {
      const uids = flights.end(flight);
      const draws = [random(), random()] as const;
      const told: Undone[] = [];
      for (const [index, uid] of uids.entries()) {
        const entry = entries.get(uid);
        const settlement = settlements[index] ?? UNKNOWN;
        if (entry?.phase.kind !== "in-flight" || entry.phase.flight !== flight) continue;
        const draw = draws[isHalved(entry) && index * 2 >= uids.length ? 1 : 0];
        const after = settleEntry({ ...entry, phase: entry.phase }, settlement, { nowMs, draw, rules });
        if (settlement.kind === "refused" && after.phase.kind === "due" && after.phase.next.dueMs <= nowMs) {
          entries.queues.giveBack(uid, after.phase.next.queue, entry.phase.sinceMs);
        }
        entries.put(after, nowMs);
        const undone = undoneOf(entry, after);
        if (undone !== undefined) told.push(undone);
      }
      return told;
    },
    giveUp: (uid, nowMs) => change(uid, nowMs, (entry) => tooLarge(entry, nowMs)),
    counts: () => entries.counts(),
  };
}

/** Of an object that its flight's settlements leave out. */
const UNKNOWN: Settlement = { kind: "failed", settleMs: 0 };
