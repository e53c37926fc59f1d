import { type Entry, getNextStepMs, isNeeded, isOut } from "#relay/work/entry.ts";
import type { PendingCounts, Queue } from "#relay/work/types.ts";

/** All entries by uid. Queues, schedule and counts follow every change of an entry. */
export interface Entries {
  readonly queues: Pick<Queues, "giveBack" | "sinceMs" | "uids" | "waiting">;
  get(uid: string): Entry | undefined;
  all(): IterableIterator<Entry>;
  /** Adds an entry, or replaces the one with its uid. */
  put(entry: Entry, nowMs: number): void;
  remove(uid: string): Entry | undefined;
  /** Moves what is due to its queue. Returns the entries whose other waits end now. */
  due(nowMs: number): readonly Entry[];
  nextMs(): number | undefined;
  counts(): PendingCounts;
}

/** Creates an empty set of entries. */
export function createEntries(): Entries {
  const entries = new Map<string, Entry>();
  const schedule = createSchedule();
  const queues = createQueues();
  let needed = 0;
  let inFlight = 0;

  function count(entry: Entry | undefined, sign: 1 | -1): void {
    if (entry === undefined) return;
    if (isNeeded(entry)) needed += sign;
    if (isOut(entry)) inFlight += sign;
  }

  function put(entry: Entry, nowMs: number): void {
    const before = entries.get(entry.uid);
    entries.set(entry.uid, entry);
    count(before, -1);
    count(entry, 1);
    if (before?.phase !== entry.phase) place(entry, nowMs);
  }

  /** Puts an entry into a queue or the schedule; into neither if it waits for an event. */
  function place({ uid, phase }: Entry, nowMs: number): void {
    const isReady = phase.kind === "due" && phase.next.dueMs <= nowMs;
    queues.put(uid, isReady ? phase.next.queue : undefined, nowMs);
    const atMs = getNextStepMs(phase);
    if (atMs === undefined || isReady) schedule.delete(uid);
    else schedule.set(uid, atMs);
  }

  /** Sends an object whose minimum wait is over along with others that leave now. */
  function goAlong(entry: Entry, nowMs: number): void {
    const { phase } = entry;
    if (phase.kind !== "due" || !hasWaited(entry)) return;
    const { next } = phase;
    if (next.queue !== "work" || next.dueMs <= nowMs || next.earliestMs > nowMs) return;
    put({ ...entry, phase: { kind: "due", next: { ...next, dueMs: nowMs } } }, nowMs);
  }

  return {
    queues,
    get: (uid) => entries.get(uid),
    all: () => entries.values(),
    put,
    remove(uid) {
      const entry = entries.get(uid);
      entries.delete(uid);
      count(entry, -1);
      schedule.delete(uid);
      queues.put(uid, undefined, 0);
      return entry;
    },
    due(nowMs) {
      const overdue: Entry[] = [];
      let departs = false;
      for (const uid of schedule.due(nowMs)) {
        const entry = entries.get(uid);
        if (entry === undefined) continue;
        if (entry.phase.kind !== "due") overdue.push(entry);
        else place(entry, nowMs);
        departs ||= hasWaited(entry);
      }
      if (departs) for (const entry of entries.values()) goAlong(entry, nowMs);
      return overdue;
    },
    nextMs: () => schedule.nextMs(),
    counts: () => ({
      objects: entries.size,
      needed,
      inFlight,
      due: { work: queues.waiting("work").ready, look: queues.waiting("look").ready },
    }),
  };
}

function hasWaited({ phase }: Entry): boolean {
  return phase.kind === "due" && phase.next.queue === "work" && phase.next.wait !== undefined;
}

/**
 * The objects that wait in a queue: how many, and when the first and the last of them arrived, in
 * milliseconds.
 */
interface QueueBacklog {
  readonly ready: number;
  readonly oldestMs: number;
  readonly newestMs: number;
}

/** Objects that could be sent now, by uid and in order; each in one queue at most. */
interface Queues {
  /** Puts an object at the end of that queue, unless it is there already, and removes it from the others. */
  put(uid: string, queue: Queue | undefined, nowMs: number): void;
  /**
   * Puts a returned object before all that were never sent, behind those returned earlier. It keeps the time
   * since which it has waited.
   */
  giveBack(uid: string, queue: Queue, sinceMs: number): void;
  /** Returns since when it waits there. */
  sinceMs(uid: string, queue: Queue): number | undefined;
  uids(queue: Queue): IterableIterator<readonly [uid: string, sinceMs: number]>;
  waiting(queue: Queue): QueueBacklog;
}

interface QueueOrder {
  readonly back: Map<string, number>;
  readonly new: Map<string, number>;
  newestMs: number;
}

const QUEUES: readonly Queue[] = ["work", "look"];

/** Creates empty queues. */
function createQueues(): Queues {
  const places: Readonly<Record<Queue, QueueOrder>> = { work: createQueueOrder(), look: createQueueOrder() };

  function remove(uid: string, queue: Queue): void {
    places[queue].back.delete(uid);
    places[queue].new.delete(uid);
  }

  return {
    put(uid, queue, nowMs) {
      for (const each of QUEUES) if (each !== queue) remove(uid, each);
      if (queue === undefined || places[queue].back.has(uid) || places[queue].new.has(uid)) return;
      places[queue].new.set(uid, nowMs);
      places[queue].newestMs = nowMs;
    },
    giveBack(uid, queue, sinceMs) {
      for (const each of QUEUES) remove(uid, each);
      places[queue].back.set(uid, sinceMs);
    },
    sinceMs: (uid, queue) => places[queue].back.get(uid) ?? places[queue].new.get(uid),
    *uids(queue) {
      yield* places[queue].back;
      yield* places[queue].new;
    },
    waiting(queue) {
      const { back, new: fresh, newestMs } = places[queue];
      const firsts = [back, fresh].flatMap((line) => getFirst(line));
      const oldestMs = firsts.length === 0 ? 0 : Math.min(...firsts);
      return { ready: back.size + fresh.size, oldestMs, newestMs };
    },
  };
}

function createQueueOrder(): QueueOrder {
  return { back: new Map(), new: new Map(), newestMs: 0 };
}

function getFirst(line: ReadonlyMap<string, number>): readonly number[] {
  for (const sinceMs of line.values()) return [sinceMs];
  return [];
}

/** Keys with a due time each; a key is in it at most once. */
interface Schedule {
  /** Adds the key, or moves it. */
  set(key: string, atMs: number): void;
  delete(key: string): void;
  /** Returns the earliest due time. */
  nextMs(): number | undefined;
  /** Removes and returns all that are due, earliest first. */
  due(nowMs: number): readonly string[];
}

/**
 * Creates a schedule as a heap. Moved or deleted keys leave stale slots, which are removed when they come up
 * or become the majority.
 */
export function createSchedule(): Schedule {
  const times = new Map<string, number>();
  let heap: Slot[] = [];

  const isStale = (slot: Slot): boolean => times.get(slot.key) !== slot.atMs;

  function top(): Slot | undefined {
    for (let slot = heap[0]; slot !== undefined; slot = heap[0]) {
      if (!isStale(slot)) return slot;
      pop(heap);
    }
    return undefined;
  }

  return {
    set(key, atMs) {
      if (times.get(key) === atMs) return;
      times.set(key, atMs);
      push(heap, { key, atMs });
      if (heap.length <= 2 * times.size + SLACK) return;
      heap = heap.filter((slot) => !isStale(slot)).sort((a, b) => a.atMs - b.atMs);
    },
    delete(key) {
      times.delete(key);
    },
    nextMs: () => top()?.atMs,
    due(nowMs) {
      const keys: string[] = [];
      for (let slot = top(); slot !== undefined && slot.atMs <= nowMs; slot = top()) {
        keys.push(slot.key);
        times.delete(slot.key);
        pop(heap);
      }
      return keys;
    },
  };
}

interface Slot {
  readonly key: string;
  readonly atMs: number;
}

/** Stale slots that the heap may hold before it is cleaned. */
const SLACK = 64;

function push(heap: Slot[], slot: Slot): void {
  let index = heap.length;
  heap.push(slot);
  while (index > 0) {
    const parent = (index - 1) >> 1;
    const above = heap[parent];
    if (above === undefined || above.atMs <= slot.atMs) break;
    heap[index] = above;
    index = parent;
  }
  heap[index] = slot;
}

function pop(heap: Slot[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let index = 0;
  for (;;) {
    let child = 2 * index + 1;
    let below = heap[child];
    const right = heap[child + 1];
    if (right !== undefined && below !== undefined && right.atMs < below.atMs) {
      child += 1;
      below = right;
    }
    if (below === undefined || below.atMs >= last.atMs) break;
    heap[index] = below;
    index = child;
  }
  heap[index] = last;
}
