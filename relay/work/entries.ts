import { type Entry, getNextStepMs, isNeeded, isOut } from "#relay/work/entry.ts";
import { createQueues, type Queues } from "#relay/work/queues.ts";
import { createSchedule } from "#relay/work/schedule.ts";
import type { PendingCounts } from "#relay/work/types.ts";

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
