/**
 * Time as an argument; `systemClock` is the system's own. It has two clocks, because the machine's clock may
 * be set (NTP, a paused virtual machine). Waits and durations must not notice that; timestamps for others
 * must be right.
 */
export interface Clock {
  /**
   * Monotonic milliseconds since an arbitrary moment: for waits, deadlines and durations within this process.
   */
  now(): number;
  /**
   * The wall-clock time: for what leaves the process or is compared with others' timestamps. It may jump in
   * both directions.
   */
  wallTime(): Date;
  /**
   * Calls back once after `delayMs`; the returned function cancels it. A timer does not keep the process
   * alive.
   */
  after(delayMs: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  wallTime: () => new Date(),
  after(delayMs, callback) {
    // A longer timer would fire at once; an early wake-up checks again.
    const timer = setTimeout(callback, Math.min(delayMs, LONGEST_TIMER_MS)).unref();
    return () => clearTimeout(timer);
  },
};

/** The largest delay of Node's timers, about 25 days. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Waits for `delayMs` or until the signal fires, whichever comes first; never rejects. */
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

/**
 * Milliseconds that one cluster's work may block the others; a list of a thousand objects is processed
 * without a break.
 */
const MAX_BLOCK_MS = 20;

/**
 * Creates a function for long work to call between steps; it returns a promise to await if others should run,
 * or undefined.
 */
export function createYieldToEventLoop(): () => Promise<void> | undefined {
  /** When this work first ran in the current turn of the event loop; undefined if it has not. */
  let sinceMs: number | undefined;
  return () => {
    if (sinceMs === undefined) {
      sinceMs = performance.now();
      setImmediate(() => {
        sinceMs = undefined;
      });
    }
    if (performance.now() - sinceMs < MAX_BLOCK_MS) return undefined;
    return new Promise((resolve) => setImmediate(resolve));
  };
}
