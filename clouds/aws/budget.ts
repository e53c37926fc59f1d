import { AWS_QUOTAS, type Operation, type Quota, type QuotaName, quotaOf } from "#clouds/aws/quotas.ts";
import { createShares } from "#clouds/shares.ts";

/** How long a request waits for its token at most; whoever would wait longer is told so at once, and comes back later. */
export const MAX_TOKEN_WAIT_MS = 5_000;

/** The account's quotas, of which the calls in progress may together spend the sum of their shares. */
export interface Budget {
  /** Opens a call's share; returns what closes it. */
  enter(share: number): () => void;
  /** Takes a token, and returns undefined, or the milliseconds until there is one that nobody in the queue has come for before. */
  take(operation: Operation): number | undefined;
  /** Stands in the queue for a token. */
  queue(operation: Operation): Turn;
  /** The milliseconds until an operation can be asked so often as only makes sense together; undefined where it can by the next `withinMs`. */
  untilWhole(operation: Operation, withinMs: number): number | undefined;
  /** The service throttled this operation: the bucket empties, and its rate halves, grows back, and is slow where it was throttled. */
  throttled(operation: Operation): void;
}

/** A place in the queue for tokens of a quota; whoever came first is served first. */
export interface Turn {
  /** Takes the token and returns undefined, or the milliseconds until it is this one's. */
  take(): number | undefined;
  /** Goes out of the queue, with the token or without. */
  leave(): void;
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
  /** With so many before, whose tokens are theirs although they still sleep. */
  const take = (name: QuotaName, before: number): number | undefined => {
    const bucket = settled(name);
    const missing = before + 1 - bucket.tokens;
    if (missing > 0)
      return Math.ceil((missing * 1000) / (quotas[name].refillPerSecond * shares.current() * bucket.rate));
    bucket.tokens -= 1;
    return undefined;
  };
  return {
    enter: shares.enter,
    take(operation) {
      const name = quotaOf(operation);
      return take(name, settled(name).queue.size);
    },
    queue(operation) {
      const name = quotaOf(operation);
      const { queue } = settled(name);
      const turn: Turn = {
        take() {
          const wait = take(name, Math.max(0, [...queue].indexOf(turn)));
          if (wait === undefined) queue.delete(turn);
          return wait;
        },
        leave: () => void queue.delete(turn),
      };
      queue.add(turn);
      return turn;
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
      bucket.knee = bucket.rate * KNEE;
      bucket.rate = Math.max(MIN_RATE, bucket.rate / 2);
    },
  };
}

/** The slowest a bucket gets, as a part of its full rate … */
const MIN_RATE = 1 / 16;

/** Up to this part of the rate that was throttled a bucket grows back soon, … */
const KNEE = 0.9;

/** … by this part of that each second: in eight seconds, while as much has gathered as a few requests that arrive together need … */
const RECOVERY_PER_SECOND = 0.05;

/** … and beyond it by this much each second, as there the next throttle may be. */
const PROBING_PER_SECOND = 1 / 120;

interface Bucket {
  tokens: number;
  rate: number;
  /** Where probing begins. */
  knee: number;
  readonly queue: Set<Turn>;
  settledAt: number;
  halvedAt: number;
}

function fullBucket(quota: Quota, share: number, at: number): Bucket {
  return {
    tokens: sizeOf(quota, share),
    rate: 1,
    knee: 1,
    queue: new Set(),
    settledAt: at,
    halvedAt: Number.NEGATIVE_INFINITY,
  };
}

/** However small the share, one request fits: or nothing would ever be asked. */
function sizeOf(quota: Quota, share: number): number {
  return Math.max(quota.wholeBurst ?? 1, quota.burst * share);
}

function settle(bucket: Bucket, quota: Quota, share: number, at: number): void {
  const seconds = Math.max(0, at - bucket.settledAt) / 1000;
  const tokens = bucket.tokens + seconds * quota.refillPerSecond * share * bucket.rate;
  bucket.tokens = Math.min(sizeOf(quota, share), tokens);
  bucket.rate = recovered(bucket, seconds);
  bucket.settledAt = at;
}

function recovered({ rate, knee }: Bucket, seconds: number): number {
  const perSecond = knee * RECOVERY_PER_SECOND;
  const untilKnee = Math.min(seconds, Math.max(0, knee - rate) / perSecond);
  return Math.min(1, rate + untilKnee * perSecond + (seconds - untilKnee) * PROBING_PER_SECOND);
}
