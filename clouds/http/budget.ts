import type { RateLimit } from "#clouds/http/rate-limit.ts";
import { createShares } from "#clouds/shares.ts";

/** A token bucket's size and refill. */
export interface Quota {
  readonly burst: number;
  readonly refillPerSecond: number;
}

/** How long a request waits for its turn at most; whoever would wait longer is told so at once, and comes back later. */
export const MAX_TURN_WAIT_MS = 5_000;

/** The account's quota, of which the calls in progress may together spend the sum of their shares. */
export interface Budget {
  /** Opens a call's share; returns what closes it. */
  enter(share: number): () => void;
  /** Takes a token, and returns undefined, or the milliseconds until there may be one. */
  take(): number | undefined;
  /** What the server said of the quota along with an answer; `throttled` where the answer was that it is spent. */
  observe(said: RateLimit, throttled: boolean): void;
  /** The server said that less is left than so many times the reserve, or once: what can wait should. */
  isLow(times?: number): boolean;
}

/** A full bucket. `now` is milliseconds of a clock that never goes back; `reserve` is what of the server's quota counts as little. */
export function createBudget(quota: Quota, reserve: number, now: () => number): Budget {
  let tokens = quota.burst;
  let settledAt = now();
  let pausedUntil = Number.NEGATIVE_INFINITY;
  /** How many times the reserve is left, as far as the server has said, and until when that is believed. */
  let timesLeft = 1;
  let saidUntil = Number.NEGATIVE_INFINITY;

  const settle = (): void => {
    const at = now();
    const share = shares.current();
    const accrued = (Math.max(0, at - settledAt) / 1000) * quota.refillPerSecond * share;
    // However small the share, one request fits: or nothing would ever be asked.
    tokens = Math.min(Math.max(1, quota.burst * share), tokens + accrued);
    settledAt = at;
  };
  const shares = createShares(settle);

  return {
    enter: shares.enter,
    take() {
      settle();
      const pauseMs = pausedUntil - now();
      if (pauseMs > 0) return Math.ceil(pauseMs);
      if (tokens < 1) return Math.ceil(((1 - tokens) * 1000) / (quota.refillPerSecond * shares.current()));
      tokens -= 1;
      return undefined;
    },
    observe({ limit, remaining, resetMs, retryAfterMs }, throttled) {
      settle();
      const at = now();
      const resetInMs = Math.min(MAX_PAUSE_MS, resetMs ?? DEFAULT_PAUSE_MS);
      if (throttled) {
        tokens = 0;
        pausedUntil = Math.max(pausedUntil, at + Math.min(MAX_PAUSE_MS, retryAfterMs ?? resetInMs));
      }
      if (remaining === undefined) return;
      tokens = Math.min(tokens, remaining);
      const little = Math.min(reserve, (limit ?? Number.POSITIVE_INFINITY) / 10);
      // Nothing is learnt while nothing is asked, so what was said holds until the quota grows again, and no longer.
      timesLeft = remaining / little;
      saidUntil = at + resetInMs;
      if (remaining === 0 && !throttled) pausedUntil = Math.max(pausedUntil, at + resetInMs);
    },
    isLow: (times = 1) => now() < saidUntil && timesLeft < times,
  };
}

/** What is said to those who should wait, be it nodes or questions. */
export const HELD_BACK = {
  kind: "error",
  code: "Throttled",
  message: "little is left of the account's hourly quota, and is kept for nodes that are to be initialized",
} as const;

/** However long a server wants it, after this time it is asked once more. */
const MAX_PAUSE_MS = 60_000;

/** For a server that throttles and does not say until when. */
const DEFAULT_PAUSE_MS = 5_000;
