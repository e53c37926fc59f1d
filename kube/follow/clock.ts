/** Time as an argument; the system's own is `systemClock`. */
export interface Clock {
  /** Milliseconds since the epoch, never going back. */
  now(): number;
  /** Calls back once after `delayMs`; the answer cancels it. A timer keeps no process alive. */
  after(delayMs: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  // The wall clock may be set back; this one starts at it and only ever grows.
  now: () => performance.timeOrigin + performance.now(),
  after(delayMs, callback) {
    // A longer one would fire at once; whoever wakes early looks again.
    const timer = setTimeout(callback, Math.min(delayMs, LONGEST_TIMER_MS)).unref();
    return () => clearTimeout(timer);
  },
};

/** What Node's timers can count to; about 25 days. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Waits `delayMs`, or until the signal fires, whichever comes first; never rejects. */
export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const finish = (): void => {
      cancel();
      signal.removeEventListener("abort", finish);
      resolve();
    };
    const cancel = clock.after(delayMs, finish);
    signal.addEventListener("abort", finish, { once: true });
  });
}
