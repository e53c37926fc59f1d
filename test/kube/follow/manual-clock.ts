import type { Clock } from "#kube/follow/clock.ts";

/** A clock that moves only when it is told to. */
export interface ManualClock extends Clock {
  /** Moves on, calling every timer at its own time, and lets everything that follows from it happen. */
  advance(durationMs: number): Promise<void>;
}

export function createManualClock(startMs = Date.parse("2026-01-01T00:00:00Z")): ManualClock {
  let nowMs = startMs;
  const timers = new Set<{ readonly atMs: number; readonly callback: () => void }>();
  const earliest = () => [...timers].sort((a, b) => a.atMs - b.atMs)[0];
  return {
    now: () => nowMs,
    after(delayMs, callback) {
      const timer = { atMs: nowMs + delayMs, callback };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    async advance(durationMs) {
      const untilMs = nowMs + durationMs;
      await quiet();
      for (let next = earliest(); next !== undefined && next.atMs <= untilMs; next = earliest()) {
        timers.delete(next);
        nowMs = Math.max(nowMs, next.atMs);
        next.callback();
        await quiet();
      }
      nowMs = untilMs;
    },
  };
}

/** Lets all that is ready to happen in this process happen. */
export async function quiet(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
