import type { Queue } from "#relay/work/pending.ts";

/** What waits in a queue: how many, and since when the first and the last of them, in milliseconds. */
export interface Waiting {
  readonly ready: number;
  readonly oldestMs: number;
  readonly newestMs: number;
}

/** Objects that could be sent now, by uid and in order; each in one queue at most. */
export interface Queues {
  /** At the end of that queue, unless it is in it already; out of the others. */
  put(uid: string, queue: Queue | undefined, nowMs: number): void;
  /** Before all that were never sent, behind those that were given back before; with the time since which it has waited. */
  giveBack(uid: string, queue: Queue, sinceMs: number): void;
  /** Since when it waits there. */
  sinceMs(uid: string, queue: Queue): number | undefined;
  uids(queue: Queue): IterableIterator<readonly [uid: string, sinceMs: number]>;
  waiting(queue: Queue): Waiting;
}

interface Places {
  readonly back: Map<string, number>;
  readonly new: Map<string, number>;
  newestMs: number;
}

const QUEUES: readonly Queue[] = ["work", "look"];

/** Queues with nothing in them. */
export function createQueues(): Queues {
  const places: Readonly<Record<Queue, Places>> = { work: noPlaces(), look: noPlaces() };

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
      const firsts = [back, fresh].flatMap((line) => firstOf(line));
      const oldestMs = firsts.length === 0 ? 0 : Math.min(...firsts);
      return { ready: back.size + fresh.size, oldestMs, newestMs };
    },
  };
}

function noPlaces(): Places {
  return { back: new Map(), new: new Map(), newestMs: 0 };
}

function firstOf(line: ReadonlyMap<string, number>): readonly number[] {
  for (const sinceMs of line.values()) return [sinceMs];
  return [];
}
