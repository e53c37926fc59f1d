import type { Queue } from "#relay/work/types.ts";

/**
 * The objects that wait in a queue: how many, and when the first and the last of them arrived, in
 * milliseconds.
 */
export interface QueueBacklog {
  readonly ready: number;
  readonly oldestMs: number;
  readonly newestMs: number;
}

/** Objects that could be sent now, by uid and in order; each in one queue at most. */
export interface Queues {
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
export function createQueues(): Queues {
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
