import { type Clock, systemClock } from "#kube/follow/clock.ts";

/** The system's clock, but for the waits: where nothing goes on before a timer fires, it fires at once. */
export interface SkippingClock extends Clock {
  /** Milliseconds that were passed over so far. */
  skippedMs(): number;
  skips(): number;
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

/** Makes a clock that passes over waits while `isWaiting` holds: nothing is on its way, and something is to be done later. */
export function createSkippingClock(isWaiting: () => boolean): SkippingClock {
  const timers = new Set<Timer>();
  let skippedMs = 0;
  let looks = 0;
  let skips = 0;
  const now = (): number => systemClock.now() + skippedMs;

  function arm(timer: Timer): void {
    timer.cancelReal();
    timer.cancelReal = systemClock.after(Math.max(0, timer.atMs - now()), () => {
      if (timers.delete(timer)) timer.callback();
    });
  }

  function skip(durationMs: number): void {
    skippedMs += Math.max(0, durationMs);
    skips += 1;
    for (const timer of timers) arm(timer);
  }

  function look(): void {
    looks = isWaiting() ? looks + 1 : 0;
    if (looks < LOOKS) return;
    looks = 0;
    const soonestMs = Math.min(...[...timers].map(({ atMs }) => atMs));
    if (Number.isFinite(soonestMs)) skip(soonestMs - now());
  }

  const looking = setInterval(look, LOOK_MS);
  looking.unref();
  return {
    now,
    skip,
    skippedMs: () => skippedMs,
    skips: () => skips,
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
