import { type Clock, systemClock } from "#kube/follow/clock.ts";

/** The system's clock, except for waits: if nothing else happens before a timer fires, it fires at once. */
export interface SkippingClock extends Clock {
  /** Returns the skipped milliseconds so far. */
  skippedMs(): number;
  /** Skips a wait by itself. */
  skip(durationMs: number): void;
  close(): void;
}

interface Timer {
  readonly atMs: number;
  readonly callback: () => void;
  cancelReal: () => void;
}

/** The interval of checks for progress. */
const LOOK_MS = 6;
/** The required number of checks without progress in a row: a recent write may still be on its way. */
const LOOKS = 3;
/** The required number if no planned work is known, because news of it may be on its way. */
const LOOKS_UNTOLD = 10;

/** Why there is no progress: later work is planned, or none is known. */
export type Waiting = "told" | "untold";

/** Creates a clock that skips waits while nothing is on its way and later work is planned. */
export function createSkippingClock(waiting: () => Waiting | undefined): SkippingClock {
  const timers = new Set<Timer>();
  let skippedMs = 0;
  let looks = 0;
  const now = (): number => systemClock.now() + skippedMs;

  function arm(timer: Timer): void {
    timer.cancelReal();
    timer.cancelReal = systemClock.after(Math.max(0, timer.atMs - now()), () => {
      if (timers.delete(timer)) timer.callback();
    });
  }

  function skip(durationMs: number): void {
    skippedMs += Math.max(0, durationMs);
    for (const timer of timers) arm(timer);
  }

  function look(): void {
    const why = waiting();
    looks = why === undefined ? 0 : looks + 1;
    if (looks < (why === "told" ? LOOKS : LOOKS_UNTOLD)) return;
    looks = 0;
    const soonestMs = Math.min(...[...timers].map(({ atMs }) => atMs));
    if (Number.isFinite(soonestMs)) skip(soonestMs - now());
  }

  const looking = setInterval(look, LOOK_MS);
  looking.unref();
  return {
    now,
    wallTime: () => new Date(systemClock.wallTime().getTime() + skippedMs),
    skip,
    skippedMs: () => skippedMs,
    after(delayMs, callback) {
      const timer: Timer = { atMs: now() + delayMs, callback, cancelReal: () => {} };
      timers.add(timer);
      arm(timer);
      return () => {
        timers.delete(timer);
        timer.cancelReal();
      };
    },
    close() {
      clearInterval(looking);
      for (const timer of timers) timer.cancelReal();
      timers.clear();
    },
  };
}
