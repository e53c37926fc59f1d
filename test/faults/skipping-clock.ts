import { type Clock, systemClock } from "#kube/follow/clock.ts";

/** The system's clock, but for the waits: where nothing goes on before a timer fires, it fires at once. */
export interface SkippingClock extends Clock {
  /** Milliseconds that were passed over so far. */
  skippedMs(): number;
  /** Passes over a wait of its own accord. */
  skip(durationMs: number): void;
  close(): void;
}

interface Timer {
  readonly atMs: number;
  readonly callback: () => void;
  cancelReal: () => void;
}

/** How often is looked whether nothing goes on … */
const LOOK_MS = 6;
/** … and how often in a row nothing must: what was just written is on its way to us then. */
const LOOKS = 3;
/** Where nobody knows of anything to be done, word of it may be on its way. */
const LOOKS_UNTOLD = 10;

/** Why nothing goes on: what is to be done later is known, or nobody was told of it. */
export type Waiting = "told" | "untold";

/** Makes a clock that passes over waits while there is one: nothing is on its way, and something is to be done later. */
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
