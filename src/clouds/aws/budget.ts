import { AWS_QUOTAS, getQuotaName, type Operation, type Quota, type QuotaName } from "#clouds/aws/quotas.ts";
import { createShares } from "#clouds/invocation-shares.ts";
import { getAccrualMs, refillBucket, type TokenBucket } from "#core/token-bucket.ts";

/**
 * Maximum time that a request waits for its token. If the wait would be longer, it fails at once and is
 * retried later.
 */
export const MAX_TOKEN_WAIT_MS = 5_000;

/** The account's API quotas. Calls in progress may together spend the sum of their shares. */
export interface Budget {
  /** Opens a call's share and returns a function that closes it. */
  enter(share: number): () => void;
  /**
   * Takes a token and returns undefined. Otherwise returns the milliseconds until a token is free that no
   * earlier request in the queue has reserved.
   */
  take(operation: Operation): number | undefined;
  /** Joins the queue for a token. */
  reserve(operation: Operation): Reservation;
  /**
   * Returns the milliseconds until an operation has tokens for a whole group of requests; undefined if it has
   * them within `withinMs`.
   */
  getWaitMs(operation: Operation, withinMs: number): number | undefined;
  /**
   * Records that the service throttled this operation. The bucket empties and its rate halves; the rate
   * recovers fast at first, and slowly near the throttled rate.
   */
  recordThrottle(operation: Operation): void;
}

/** A place in the queue for tokens of a quota, first in, first out. */
export interface Reservation {
  /**
   * Takes the token and returns undefined, or returns the milliseconds until this reservation's token is
   * free.
   */
  take(): number | undefined;
  /** Leaves the queue, with or without the token. */
  leave(): void;
}

/** Creates a budget with a full bucket for each quota. `now` is a monotonic clock in milliseconds. */
export function createBudget(now: () => number, quotas = AWS_QUOTAS): Budget {
  const buckets = new Map<QuotaName, Bucket>();
  const shares = createShares(() => {
    for (const name of buckets.keys()) getBucket(name);
  });
  const getBucket = (name: QuotaName): Bucket => {
    const share = shares.getCurrent();
    const bucket = buckets.get(name) ?? createFullBucket(quotas[name], share, now());
    buckets.set(name, bucket);
    settleBucket(bucket, quotas[name], share, now());
    return bucket;
  };
  /** `queuedCount` requests are ahead in the queue; their tokens are reserved although they still wait. */
  const take = (name: QuotaName, queuedCount: number): number | undefined => {
    const bucket = getBucket(name);
    const missing = queuedCount + 1 - bucket.tokens;
    if (missing > 0)
      return getAccrualMs(missing, quotas[name].refillPerSecond * shares.getCurrent() * bucket.rate);
    bucket.tokens -= 1;
    return undefined;
  };
  return {
    enter: shares.enter,
    take(operation) {
      const name = getQuotaName(operation);
      return take(name, getBucket(name).queue.size);
    },
    reserve(operation) {
      const name = getQuotaName(operation);
      const { queue } = getBucket(name);
      const reservation: Reservation = {
        take() {
          const wait = take(name, Math.max(0, [...queue].indexOf(reservation)));
          if (wait === undefined) queue.delete(reservation);
          return wait;
        },
        leave: () => void queue.delete(reservation),
      };
      queue.add(reservation);
      return reservation;
    },
    getWaitMs(operation, withinMs) {
      const name = getQuotaName(operation);
      const bucket = getBucket(name);
      const { wholeBurst = 1, refillPerSecond } = quotas[name];
      const missing =
        Math.min(wholeBurst, computeBucketSize(quotas[name], shares.getCurrent())) - bucket.tokens;
      const waitMs = getAccrualMs(missing, refillPerSecond * shares.getCurrent() * bucket.rate);
      return waitMs > withinMs ? waitMs : undefined;
    },
    recordThrottle(operation) {
      const bucket = getBucket(getQuotaName(operation));
      bucket.tokens = 0;
      // Requests in flight together are throttled together; they count as one throttle.
      if (now() - bucket.halvedAt < 1000) return;
      bucket.halvedAt = now();
      bucket.knee = bucket.rate * KNEE;
      bucket.rate = Math.max(MIN_RATE, bucket.rate / 2);
    },
  };
}

/** Minimum rate of a bucket, as a part of its full rate. */
const MIN_RATE = 1 / 16;

/** Up to this part of the throttled rate, a bucket recovers fast. */
const KNEE = 0.9;

/**
 * The fast recovery per second, as a part of the knee: nine seconds from half of the throttled rate. By then the
 * bucket holds enough for a few simultaneous requests.
 */
const RECOVERY_PER_SECOND = 0.05;

/** The slow recovery per second beyond the knee, where the next throttle is likely. */
const PROBING_PER_SECOND = 1 / 120;

interface Bucket extends TokenBucket {
  rate: number;
  /** The rate from which recovery is slow. */
  knee: number;
  readonly queue: Set<Reservation>;
  halvedAt: number;
}

function createFullBucket(quota: Quota, share: number, at: number): Bucket {
  return {
    tokens: computeBucketSize(quota, share),
    rate: 1,
    knee: 1,
    queue: new Set(),
    refilledAt: at,
    halvedAt: Number.NEGATIVE_INFINITY,
  };
}

/** At least one token, however small the share; otherwise no request could ever be sent. */
function computeBucketSize(quota: Quota, share: number): number {
  return Math.max(quota.wholeBurst ?? 1, quota.burst * share);
}

function settleBucket(bucket: Bucket, quota: Quota, share: number, at: number): void {
  const seconds = Math.max(0, at - bucket.refilledAt) / 1000;
  const perSecond = quota.refillPerSecond * share * bucket.rate;
  refillBucket(bucket, { burst: computeBucketSize(quota, share), perSecond }, at);
  bucket.rate = computeRecoveredRate(bucket, seconds);
}

function computeRecoveredRate({ rate, knee }: Bucket, seconds: number): number {
  const perSecond = knee * RECOVERY_PER_SECOND;
  const untilKnee = Math.min(seconds, Math.max(0, knee - rate) / perSecond);
  return Math.min(1, rate + untilKnee * perSecond + (seconds - untilKnee) * PROBING_PER_SECOND);
}
