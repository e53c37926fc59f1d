/** The endpoint's clock; tests have their own. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Waits; ends early once the signal aborts; never rejects. */
  sleep(delayMs: number, signal: AbortSignal): Promise<void>;
}

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (delayMs, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, delayMs);
      signal.addEventListener("abort", done);
    }),
};
