import { fillBatch } from "#delivery/batch-event.ts";
import { getCloseDelayMs, selectLinger } from "#relay/work/batches.ts";
import type { Pending } from "#relay/work/pending.ts";
import type { Queue, ReadyObject, Settlement } from "#relay/work/types.ts";

/** One invocation of a simulation. */
export interface Flown {
  readonly startedMs: number;
  readonly queue: Queue;
  readonly uids: readonly string[];
}

/** How an invocation behaves: its duration, and the result for each object. */
export interface Answer {
  readonly takesMs: number;
  readonly settlements: readonly Settlement[];
}

interface InFlight {
  readonly flight: number;
  readonly endsMs: number;
  readonly settlements: readonly Settlement[];
}

/**
 * Sends what is pending as a relay does, in simulated time, with this many permits. Returns what was sent.
 */
export function simulate(
  pending: Pending,
  fromMs: number,
  untilMs: number,
  answer: (objects: readonly ReadyObject[], nowMs: number) => Answer,
  slots = 4,
): readonly Flown[] {
  const flown: Flown[] = [];
  const closedMs: Partial<Record<Queue, number>> = {};
  let inFlight: readonly InFlight[] = [];
  let nowMs = fromMs;

  function pump(queue: Queue): number | undefined {
    for (;;) {
      const state = { ...pending.queue(queue), closedMs: closedMs[queue], spacingMs: 0, nowMs };
      const linger = selectLinger({ queue, monitors: false, asksCloud: true });
      const wait = getCloseDelayMs({ ...state, freeSlots: slots - inFlight.length }, linger);
      if (wait !== 0) return wait;
      closedMs[queue] = nowMs;
      const { objects } = fillBatch(pending.ready(queue));
      const { takesMs, settlements } = answer(objects, nowMs);
      const uids = objects.map(({ uid }) => uid);
      inFlight = [...inFlight, { flight: flown.length, endsMs: nowMs + takesMs, settlements }];
      pending.start(uids, flown.length, nowMs);
      flown.push({ startedMs: nowMs, queue, uids });
    }
  }

  while (nowMs <= untilMs) {
    for (const { flight, settlements } of inFlight.filter(({ endsMs }) => endsMs <= nowMs)) {
      pending.settle(flight, settlements, nowMs);
    }
    inFlight = inFlight.filter(({ endsMs }) => endsMs > nowMs);
    pending.advance(nowMs);
    const waits = [pump("work"), pump("look")].map((wait) => nowMs + (wait ?? Number.POSITIVE_INFINITY));
    const ends = inFlight.map(({ endsMs }) => endsMs);
    nowMs = Math.max(
      nowMs + 1,
      Math.min(...waits, ...ends, pending.nextMs() ?? Number.POSITIVE_INFINITY, untilMs + 1),
    );
  }
  return flown;
}
