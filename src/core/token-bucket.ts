/** The tokens of a token bucket, and when they were last counted, in milliseconds of a monotonic clock. */
export interface TokenBucket {
  tokens: number;
  refilledAt: number;
}

/** How many tokens a bucket holds, and how fast they accrue. */
export interface Refill {
  readonly burst: number;
  readonly perSecond: number;
}

/** Adds the tokens that have accrued since the last refill. */
export function refillBucket(bucket: TokenBucket, { burst, perSecond }: Refill, nowMs: number): void {
  const seconds = Math.max(0, nowMs - bucket.refilledAt) / 1_000;
  bucket.tokens = Math.min(burst, bucket.tokens + seconds * perSecond);
  bucket.refilledAt = Math.max(bucket.refilledAt, nowMs);
}

/** Returns the milliseconds in which that many tokens accrue. */
export function getAccrualMs(tokens: number, perSecond: number): number {
  return Math.ceil((tokens * 1_000) / perSecond);
}
