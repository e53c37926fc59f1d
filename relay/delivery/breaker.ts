/** Keeps from what does not answer: open, nothing goes; then one goes on trial, and its answer closes it. */
export interface Breaker {
  /** Milliseconds until one may go. */
  waitMs(nowMs: number): number;
  /** One goes. Answers whether it is on trial. */
  begin(nowMs: number): boolean;
  /** One came back and tells nothing. */
  left(onTrial: boolean): void;
  /** One was answered. */
  answered(nowMs: number): void;
  /** One was not; from the second in a row on, waits grow up to this. */
  refused(onTrial: boolean, limitMs: number, nowMs: number): void;
  isOpen(): boolean;
  /** How often it has opened. */
  openings(): number;
  /** When one was last answered. */
  answeredMs(): number;
}

/** The longest first wait, doubled with every refusal in a row; waits are at least the half of it, so that few are made. */
const WAIT_BASE_MS = 500;

/**
 * A trial that is out for so long was taken, whatever it is that takes its time: another goes, so that a slow one keeps nobody
 * waiting. Longer than it takes to find out that no connection can be made.
 */
const TRIAL_MS = 3_000;

/** A closed breaker; `random` is uniform in [0, 1). */
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
      // Of those that were under way when it opened, each would say the same.
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
