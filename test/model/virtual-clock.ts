import type { Clock } from "#kube/follow/clock.ts";

/**
 * A clock that advances only when no other work is left. A minute costs no real time, and load does not
 * change an order.
 */
export interface VirtualClock extends Clock {
  /** Fires all timers up to that moment, each at its own time, and waits for the work that follows. */
  advance(durationMs: number): Promise<void>;
  /** Fires timers, the earliest first, until the condition holds. Returns false if `limitMs` pass before it does. */
  advanceUntil(condition: () => boolean, limitMs: number): Promise<boolean>;
  /** Registers real input or output. The clock waits until it has ended. */
  track<Result>(work: Promise<Result>): Promise<Result>;
}

interface Timer {
  readonly atMs: number;
  readonly callback: () => void;
}

export function createVirtualClock(startMs: number): VirtualClock {
  let nowMs = startMs;
  const timers: Timer[] = [];
  const pending = new Set<Promise<unknown>>();

  /** Waits for all work without timers. Real input and output is tracked; the rest are microtasks. */
  async function quiet(): Promise<void> {
    do {
      if (pending.size > 0) await Promise.allSettled(pending);
      await new Promise((resolve) => setImmediate(resolve));
    } while (pending.size > 0);
  }

  async function fireNext(untilMs: number): Promise<boolean> {
    const [next] = timers;
    if (next === undefined || next.atMs > untilMs) return false;
    timers.shift();
    nowMs = Math.max(nowMs, next.atMs);
    next.callback();
    await quiet();
    return true;
  }

  return {
    now: () => nowMs,
    wallTime: () => new Date(nowMs),
    after(delayMs, callback) {
      const timer = { atMs: nowMs + delayMs, callback };
      const place = timers.findIndex(({ atMs }) => atMs > timer.atMs);
      timers.splice(place === -1 ? timers.length : place, 0, timer);
      return () => {
        const index = timers.indexOf(timer);
        if (index !== -1) timers.splice(index, 1);
      };
    },
    async advance(durationMs) {
      const untilMs = nowMs + durationMs;
      await quiet();
      while (await fireNext(untilMs));
      nowMs = untilMs;
    },
    async advanceUntil(condition, limitMs) {
      const untilMs = nowMs + limitMs;
      await quiet();
      while (!condition()) if (!(await fireNext(untilMs))) return condition();
      return true;
    },
    track(work) {
      const settled = work.finally(() => pending.delete(settled));
      pending.add(settled);
      return settled;
    },
  };
}
