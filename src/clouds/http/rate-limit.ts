import type { HttpAnswer } from "#clouds/http/client.ts";

/** What an answer's headers say about the account's quota; undefined if they say nothing. */
export interface RateLimit {
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
