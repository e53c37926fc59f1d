/**
 * Time as an argument; `systemClock` is the system's own. It has two clocks, because the machine's may be set (NTP, a virtual
 * machine that was paused): waits and durations must not notice, and timestamps that others read must be right.
 */
export interface Clock {
  /** Monotonic milliseconds since a moment of the clock's own choice: for waits, deadlines and durations within this process. */
  now(): number;
  /** The time of day: for what leaves the process or is compared with a timestamp of others. It may jump in both directions. */
  wallTime(): Date;
  /** Calls back once after `delayMs`; the answer cancels it. A timer keeps no process alive. */
  after(delayMs: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  wallTime: () => new Date(),
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
