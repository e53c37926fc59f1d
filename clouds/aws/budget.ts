import { AWS_QUOTAS, type Operation, type Quota, type QuotaName, quotaOf } from "#clouds/aws/quotas.ts";
import { createShares } from "#clouds/shares.ts";

/** How long a request waits for its token at most; whoever would wait longer is told so at once, and comes back later. */
export const MAX_TOKEN_WAIT_MS = 5_000;

/** The account's quotas, of which the calls in progress may together spend the sum of their shares. */
export interface Budget {
  /** Opens a call's share; returns what closes it. */
  enter(share: number): () => void;
  /** Takes a token, and returns undefined, or the milliseconds until there is one. */
  take(operation: Operation): number | undefined;
  /** The milliseconds until an operation can be asked so often as only makes sense together; undefined where it can by the next `withinMs`. */
  untilWhole(operation: Operation, withinMs: number): number | undefined;
  /** The service throttled this operation: the bucket empties, and its rate halves and grows back slowly. */
  throttled(operation: Operation): void;
}

/** A full bucket for each quota. `now` is milliseconds of a clock that never goes back. */
export function createBudget(now: () => number, quotas = AWS_QUOTAS): Budget {
  const buckets = new Map<QuotaName, Bucket>();
  const shares = createShares(() => {
    for (const name of buckets.keys()) settled(name);
  });
  const settled = (name: QuotaName): Bucket => {
    const share = shares.current();
    const bucket = buckets.get(name) ?? fullBucket(quotas[name], share, now());
    buckets.set(name, bucket);
    settle(bucket, quotas[name], share, now());
    return bucket;
  };
  return {
    enter: shares.enter,
    take(operation) {
      const name = quotaOf(operation);
      const bucket = settled(name);
      if (bucket.tokens < 1) {
        return Math.ceil(
          ((1 - bucket.tokens) * 1000) / (quotas[name].refillPerSecond * shares.current() * bucket.rate),
        );
      }
      bucket.tokens -= 1;
      return undefined;
    },
    untilWhole(operation, withinMs) {
      const name = quotaOf(operation);
      const bucket = settled(name);
      const { wholeBurst = 1, refillPerSecond } = quotas[name];
      const missing = Math.min(wholeBurst, sizeOf(quotas[name], shares.current())) - bucket.tokens;
      const waitMs = Math.ceil((missing * 1000) / (refillPerSecond * shares.current() * bucket.rate));
      return waitMs > withinMs ? waitMs : undefined;
    },
    throttled(operation) {
      const bucket = settled(quotaOf(operation));
      bucket.tokens = 0;
      // Requests in flight together are throttled together; that is one throttle, not many.
      if (now() - bucket.halvedAt < 1000) return;
      bucket.halvedAt = now();
      bucket.rate = Math.max(MIN_RATE, bucket.rate / 2);
    },
  };
}

/** The slowest a bucket gets, as a part of its full rate … */
const MIN_RATE = 1 / 16;

/** … and what it regains each second: from a half to the whole in a minute. */
const RECOVERY_PER_SECOND = 1 / 120;

interface Bucket {
  tokens: number;
  rate: number;
  settledAt: number;
  halvedAt: number;
}

function fullBucket(quota: Quota, share: number, at: number): Bucket {
  return { tokens: sizeOf(quota, share), rate: 1, settledAt: at, halvedAt: Number.NEGATIVE_INFINITY };
}

/** However small the share, one request fits: or nothing would ever be asked. */
function sizeOf(quota: Quota, share: number): number {
  return Math.max(quota.wholeBurst ?? 1, quota.burst * share);
}

function settle(bucket: Bucket, quota: Quota, share: number, at: number): void {
  const seconds = Math.max(0, at - bucket.settledAt) / 1000;
  const tokens = bucket.tokens + seconds * quota.refillPerSecond * share * bucket.rate;
  bucket.tokens = Math.min(sizeOf(quota, share), tokens);
  bucket.rate = Math.min(1, bucket.rate + seconds * RECOVERY_PER_SECOND);
  bucket.settledAt = at;
}
