import { type Operation, type Quota, type QuotaName, quotaOf } from "#clouds/aws/quotas.ts";

/** AWS's own buckets, at the end of a way that takes each request as long as it likes. */
export interface ThrottlingService {
  /** Calls by the quota that they draw on. */
  readonly done: Map<QuotaName, number>;
  readonly throttled: Map<QuotaName, number>;
  /** Rejects with AWS's throttle where the bucket is empty when the request arrives. */
  call(operation: Operation): Promise<void>;
}

export interface ThrottlingServiceOptions {
  readonly quotas: Readonly<Partial<Record<QuotaName, Quota>>>;
  /** The way there takes up to so much longer. */
  readonly jitterMs: number;
  readonly now: () => number;
  readonly sleep: (delayMs: number) => Promise<void>;
}

/** The least that the way takes, there and back each. */
const WAY_MS = 30;

/** Full buckets. Its delays are the same in each run. */
export function throttlingService({
  quotas,
  jitterMs,
  now,
  sleep,
}: ThrottlingServiceOptions): ThrottlingService {
  const buckets = new Map<QuotaName, { tokens: number; atMs: number }>();
  const done = new Map<QuotaName, number>();
  const throttled = new Map<QuotaName, number>();
  let seed = 7;
  const random = (): number => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return seed / 2 ** 32;
  };
  const take = (name: QuotaName): boolean => {
    const quota = quotas[name];
    if (quota === undefined) throw new Error(`no quota ${name}`);
    const atMs = now();
    const bucket = buckets.get(name) ?? { tokens: quota.burst, atMs };
    const filled = bucket.tokens + ((atMs - bucket.atMs) / 1_000) * quota.refillPerSecond;
    const tokens = Math.min(quota.burst, filled);
    const isDone = tokens >= 1;
    buckets.set(name, { tokens: isDone ? tokens - 1 : tokens, atMs });
    const counts = isDone ? done : throttled;
    counts.set(name, (counts.get(name) ?? 0) + 1);
    return isDone;
  };
  return {
    done,
    throttled,
    async call(operation) {
      await sleep(WAY_MS + random() * jitterMs);
      const isDone = take(quotaOf(operation));
      await sleep(WAY_MS);
      if (!isDone) throw Object.assign(new Error("Rate exceeded"), { name: "Throttling" });
    },
  };
}
