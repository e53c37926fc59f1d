import type { Clock } from "#kube/follow/clock.ts";

/** A clock that moves only on command. */
export interface ManualClock extends Clock {
  /** Sets the time of day, as NTP does; what waits does not notice. */
  step(byMs: number): void;
  /** Advances, calling every timer at its own time, and completes all that follows from it. */
  advance(durationMs: number): Promise<void>;
}

/** The monotonic clock starts at another number than the time of day: what takes one for the other fails. */
export function createManualClock(startMs = Date.parse("2026-01-01T00:00:00Z")): ManualClock {
  let nowMs = MONOTONIC_START_MS;
  let aheadMs = startMs - nowMs;
  const timers = new Set<{ readonly atMs: number; readonly callback: () => void }>();
  const earliest = () => [...timers].sort((a, b) => a.atMs - b.atMs)[0];
  return {
    now: () => nowMs,
    wallTime: () => new Date(nowMs + aheadMs),
    step(byMs) {
      aheadMs += byMs;
    },
    after(delayMs, callback) {
      const timer = { atMs: nowMs + delayMs, callback };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    async advance(durationMs) {
      const untilMs = nowMs + durationMs;
      await waitUntilQuiet();
      for (let next = earliest(); next !== undefined && next.atMs <= untilMs; next = earliest()) {
        timers.delete(next);
        nowMs = Math.max(nowMs, next.atMs);
        next.callback();
        await waitUntilQuiet();
      }
      nowMs = untilMs;
    },
  };
}

const MONOTONIC_START_MS = 7_000_000;

/** Runs everything that is ready to run in this process. */
export async function waitUntilQuiet(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
