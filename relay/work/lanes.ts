import type { Lane } from "#relay/work/pending.ts";

/** What waits in a lane: how many, and since when the first and the last of them, in milliseconds. */
export interface Waiting {
  readonly ready: number;
  readonly oldestMs: number;
  readonly newestMs: number;
}

/** Objects that could be sent now, by uid and in order; each in one lane at most. */
export interface Lanes {
  /** At the end of that lane, unless it is in it already; out of the others. */
  put(uid: string, lane: Lane | undefined, nowMs: number): void;
  /** Before all that were never sent, behind those that were given back before; with the time since which it has waited. */
  giveBack(uid: string, lane: Lane, sinceMs: number): void;
  /** Since when it waits there. */
  sinceMs(uid: string, lane: Lane): number | undefined;
  uids(lane: Lane): IterableIterator<readonly [uid: string, sinceMs: number]>;
  waiting(lane: Lane): Waiting;
}

interface Queue {
  readonly back: Map<string, number>;
  readonly new: Map<string, number>;
  newestMs: number;
}

const LANES: readonly Lane[] = ["work", "look"];

/** Lanes with nothing in them. */
export function createLanes(): Lanes {
  const queues: Readonly<Record<Lane, Queue>> = { work: emptyQueue(), look: emptyQueue() };

  function remove(uid: string, lane: Lane): void {
    queues[lane].back.delete(uid);
    queues[lane].new.delete(uid);
  }

  return {
    put(uid, lane, nowMs) {
      for (const each of LANES) if (each !== lane) remove(uid, each);
      if (lane === undefined || queues[lane].back.has(uid) || queues[lane].new.has(uid)) return;
      queues[lane].new.set(uid, nowMs);
      queues[lane].newestMs = nowMs;
    },
    giveBack(uid, lane, sinceMs) {
      for (const each of LANES) remove(uid, each);
      queues[lane].back.set(uid, sinceMs);
    },
    sinceMs: (uid, lane) => queues[lane].back.get(uid) ?? queues[lane].new.get(uid),
    *uids(lane) {
      yield* queues[lane].back;
      yield* queues[lane].new;
    },
    waiting(lane) {
      const { back, new: fresh, newestMs } = queues[lane];
      const firsts = [back, fresh].flatMap((queue) => firstOf(queue));
      const oldestMs = firsts.length === 0 ? 0 : Math.min(...firsts);
      return { ready: back.size + fresh.size, oldestMs, newestMs };
    },
  };
}

function emptyQueue(): Queue {
  return { back: new Map(), new: new Map(), newestMs: 0 };
}

function firstOf(queue: ReadonlyMap<string, number>): readonly number[] {
  for (const sinceMs of queue.values()) return [sinceMs];
  return [];
}
