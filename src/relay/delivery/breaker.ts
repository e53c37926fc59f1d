/**
 * A circuit breaker. While it is open nothing is sent; then one trial goes out, and its answer closes the
 * circuit.
 */
export interface Breaker {
  /** Returns milliseconds until one may be sent. */
  waitMs(nowMs: number): number;
  /** Records that one is sent. Returns whether it is a trial. */
  begin(nowMs: number): boolean;
  /** Records that one ended without information. */
  left(onTrial: boolean): void;
  /** Records an answer. */
  answered(nowMs: number): void;
  /** Records a refusal. From the second in a row, waits grow up to `limitMs`. */
  refused(onTrial: boolean, limitMs: number, nowMs: number): void;
  isOpen(): boolean;
  /** Returns how often the circuit has opened. */
  openings(): number;
  /** Returns when the last answer arrived. */
  answeredMs(): number;
}

/**
 * The longest first wait, doubled with each refusal in a row. A wait is at least half of it, so that attempts
 * stay few.
 */
const WAIT_BASE_MS = 500;

/**
 * A trial that is out for this long counts as accepted, and another one goes, so that a slow one delays
 * nothing. It is longer than a failed connection takes.
 */
const TRIAL_MS = 3_000;

/** Creates a closed breaker; `random` is uniform in [0, 1). */
export function createBreaker(random: () => number): Breaker {
  let refusalsInRow = 0;
  let openings = 0;
  let answeredMs = Number.NEGATIVE_INFINITY;
  let opensMs = Number.NEGATIVE_INFINITY;
  let state: "closed" | "open" | "trial" = "closed";

  return {
    waitMs: (nowMs) => (state === "closed" ? 0 : Math.max(0, opensMs - nowMs)),
    begin(nowMs) {
      if (state === "closed") return false;
      state = "trial";
      opensMs = nowMs + TRIAL_MS;
      return true;
    },
    left(onTrial) {
      if (!onTrial || state !== "trial") return;
      state = "open";
      opensMs = Number.NEGATIVE_INFINITY;
    },
    answered(nowMs) {
      answeredMs = nowMs;
      refusalsInRow = 0;
      state = "closed";
    },
    refused(onTrial, limitMs, nowMs) {
      // Requests that were under way when the circuit opened all fail for the same reason: they do not count.
      if (state !== "closed" && !onTrial) return;
      if (state === "closed") openings += 1;
      refusalsInRow += 1;
      state = "open";
      const longestMs = Math.min(limitMs, WAIT_BASE_MS * 2 ** Math.min(refusalsInRow - 1, 20));
      opensMs = nowMs + (longestMs * (1 + random())) / 2;
    },
    isOpen: () => state !== "closed",
    openings: () => openings,
    answeredMs: () => answeredMs,
  };
}
