import { type Entry, isNeeded, isOut, nextStepMs } from "#relay/work/entry.ts";
import type { PendingCounts } from "#relay/work/pending.ts";
import { createQueues, type Queues } from "#relay/work/queues.ts";
import { createSchedule } from "#relay/work/schedule.ts";

/** All entries by uid; queues, schedule and counts follow whatever becomes of one. */
export interface Entries {
  readonly queues: Pick<Queues, "giveBack" | "sinceMs" | "uids" | "waiting">;
  get(uid: string): Entry | undefined;
  all(): IterableIterator<Entry>;
  /** In the place of the one that was there. */
  put(entry: Entry, nowMs: number): void;
  remove(uid: string): Entry | undefined;
  /** Puts what is due by now into its queue; answers with those that wait for something else no longer than until now. */
  due(nowMs: number): readonly Entry[];
  nextMs(): number | undefined;
  counts(): PendingCounts;
}

/** No entries yet. */
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

  /** Into a queue, the schedule, or neither until something happens. */
  function place({ uid, phase }: Entry, nowMs: number): void {
    const isReady = phase.kind === "due" && phase.next.dueMs <= nowMs;
    queues.put(uid, isReady ? phase.next.queue : undefined, nowMs);
    const atMs = nextStepMs(phase);
    if (atMs === undefined || isReady) schedule.delete(uid);
    else schedule.set(uid, atMs);
  }

  /** An object whose wait is over but for company goes where others go. */
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
