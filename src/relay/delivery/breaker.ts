import { getBackOffMs } from "#core/back-off.ts";

/**
 * A circuit breaker for invocations. While it is open, the caller sends nothing until the wait ends. Then it sends
 * one trial. An answer closes the circuit.
 */
export interface Breaker {
  /** Returns the milliseconds until an invocation may be sent; 0 if one may be sent now. */
  waitMs(nowMs: number): number;
  /** Records that an invocation is sent. Returns whether it is a trial. */
  begin(nowMs: number): boolean;
  /** Records that an invocation ended without showing whether the platform answers. */
  recordUnknown(onTrial: boolean): void;
  /** Records an answer. Any answer closes the circuit, also that of an invocation from before it opened. */
  recordAnswer(nowMs: number): void;
  /** Records a refusal. From the second in a row, waits grow up to `limitMs`. */
  recordRefusal(onTrial: boolean, limitMs: number, nowMs: number): void;
  isOpen(): boolean;
  /** Returns how often the circuit has opened. */
  countOpenings(): number;
  /** Returns when the last answer arrived; minus infinity before the first. */
  getLastAnswerMs(): number;
}

/**
 * The longest wait after the first refusal; each further refusal in a row doubles it. A wait lasts at least half of
 * that, so that attempts stay few.
 */
const WAIT_BASE_MS = 500;

/**
 * A trial without an answer after this time no longer blocks: the caller may send another one. It is longer than the
 * time limit for a connection, so that an unreachable platform counts as a refusal first.
 */
const TRIAL_MS = 3_000;

/** Creates a closed breaker; `random` is uniform in [0, 1). */
export function createBreaker(random: () => number): Breaker {
  let refusalsInRow = 0;
  let openings = 0;
  let answeredMs = Number.NEGATIVE_INFINITY;
  let nextTrialMs = Number.NEGATIVE_INFINITY;
  let state: "closed" | "open" | "trial" = "closed";

  return {
    waitMs: (nowMs) => (state === "closed" ? 0 : Math.max(0, nextTrialMs - nowMs)),
    begin(nowMs) {
      if (state === "closed") return false;
      state = "trial";
      nextTrialMs = nowMs + TRIAL_MS;
      return true;
    },
    recordUnknown(onTrial) {
      if (!onTrial || state !== "trial") return;
      state = "open";
      nextTrialMs = Number.NEGATIVE_INFINITY;
    },
    recordAnswer(nowMs) {
      answeredMs = nowMs;
      refusalsInRow = 0;
      state = "closed";
    },
    recordRefusal(onTrial, limitMs, nowMs) {
      // Invocations that were in flight when the circuit opened fail for the same reason: they do not count.
      if (state !== "closed" && !onTrial) return;
      if (state === "closed") openings += 1;
      refusalsInRow += 1;
      state = "open";
      const longestMs = getBackOffMs({ baseMs: WAIT_BASE_MS, limitMs }, refusalsInRow - 1);
      nextTrialMs = nowMs + (longestMs * (1 + random())) / 2;
    },
    isOpen: () => state !== "closed",
    countOpenings: () => openings,
    getLastAnswerMs: () => answeredMs,
  };
}
