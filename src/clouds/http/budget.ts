import type { HttpAnswer } from "#clouds/http/client.ts";
import { createShares } from "#clouds/invocation-shares.ts";
import { getAccrualMs, refillBucket } from "#core/token-bucket.ts";

/** A token bucket's size and refill. */
export interface Quota {
  readonly burst: number;
  readonly refillPerSecond: number;
}

/**
 * Maximum time that a request waits for its turn. If the wait would be longer, it fails at once and is
 * retried later.
 */
export const MAX_TURN_WAIT_MS = 5_000;

/** The account's API quota. Calls in progress may together spend the sum of their shares. */
export interface Budget {
  /** Opens a call's share and returns a function that closes it. */
  enter(share: number): () => void;
  /** Takes a token and returns undefined, or the milliseconds until one may be free. */
  take(): number | undefined;
  /**
   * Records what the server's answer says about the quota; `throttled` if the answer was that it is used up.
   */
  observe(rateLimit: RateLimit, throttled: boolean): void;
  /**
   * Whether the server says that less than `times` the reserve is left (default 1), so that less urgent
   * requests should wait.
   */
  isLow(times?: number): boolean;
}

/**
 * Creates a budget with a full bucket. `now` is a monotonic clock in milliseconds; `reserve` is the part of
 * the server's quota below which it counts as low.
 */
export function createBudget(quota: Quota, reserve: number, now: () => number): Budget {
  const bucket = { tokens: quota.burst, refilledAt: now() };
  let pausedUntil = Number.NEGATIVE_INFINITY;
  /**
   * The rest of the quota in multiples of the reserve, by the server's last answer, and how long that is
   * valid.
   */
  let remainingTimes = 1;
  let validUntil = Number.NEGATIVE_INFINITY;

  const settle = (): void => {
    // At least one token, however small the share; otherwise no request could ever be sent.
    const burst = Math.max(1, quota.burst * shares.getCurrent());
    refillBucket(bucket, { burst, perSecond: getTokensPerSecond() }, now());
  };
  const shares = createShares(settle);
  const getTokensPerSecond = (): number => quota.refillPerSecond * shares.getCurrent();

  return {
    enter: shares.enter,
    take() {
      settle();
      const pauseMs = pausedUntil - now();
      if (pauseMs > 0) return Math.ceil(pauseMs);
      if (bucket.tokens < 1) return getAccrualMs(1 - bucket.tokens, getTokensPerSecond());
      bucket.tokens -= 1;
      return undefined;
    },
    observe({ limit, remaining, resetMs, retryAfterMs }, throttled) {
      settle();
      const at = now();
      const resetInMs = Math.min(MAX_PAUSE_MS, resetMs ?? DEFAULT_PAUSE_MS);
      if (throttled) {
        bucket.tokens = 0;
        pausedUntil = Math.max(pausedUntil, at + Math.min(MAX_PAUSE_MS, retryAfterMs ?? resetInMs));
      }
      if (remaining === undefined) return;
      bucket.tokens = Math.min(bucket.tokens, remaining);
      const lowMark = Math.min(reserve, (limit ?? Number.POSITIVE_INFINITY) / 10);
      // Without requests nothing new is known, so the value is valid until the quota grows again.
      remainingTimes = remaining / lowMark;
      validUntil = at + resetInMs;
      if (remaining === 0 && !throttled) pausedUntil = Math.max(pausedUntil, at + resetInMs);
    },
    isLow: (times = 1) => now() < validUntil && remainingTimes < times,
  };
}

/** The answer for nodes or questions that should wait. */
export const HELD_BACK = {
  kind: "error",
  code: "Throttled",
  message: "the account's hourly quota is nearly used up; the rest is reserved for nodes to be initialized",
} as const;

/** Maximum pause, whatever the server requests; after it one request is sent. */
const MAX_PAUSE_MS = 60_000;

/** Pause if a server throttles without naming a time. */
const DEFAULT_PAUSE_MS = 5_000;

/** What an answer's headers say about the account's quota; undefined if they say nothing. */
interface RateLimit {
  readonly limit: number | undefined;
  readonly remaining: number | undefined;
  /** Milliseconds until the quota grows again. */
  readonly resetMs: number | undefined;
  /** Milliseconds that the server wants the client to wait. */
  readonly retryAfterMs: number | undefined;
}

/** Reads `ratelimit-*`, whose reset is in seconds since the epoch, and `retry-after`, in seconds or as a date. */
export function readRateLimit({ headers }: HttpAnswer, wallClock: number): RateLimit {
  const reset = parseInteger(headers["ratelimit-reset"]);
  return {
    limit: parseInteger(headers["ratelimit-limit"]),
    remaining: parseInteger(headers["ratelimit-remaining"]),
    resetMs: reset === undefined ? undefined : Math.max(0, reset * 1000 - wallClock),
    retryAfterMs: readRetryAfter(headers["retry-after"], wallClock),
  };
}

function readRetryAfter(text: string | undefined, wallClock: number): number | undefined {
  const seconds = parseInteger(text);
  if (seconds !== undefined) return seconds * 1000;
  const date = Date.parse(text ?? "");
  return Number.isNaN(date) ? undefined : Math.max(0, date - wallClock);
}

function parseInteger(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
