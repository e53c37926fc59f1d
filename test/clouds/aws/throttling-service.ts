import { getQuotaName, type Operation, type Quota, type QuotaName } from "#clouds/aws/quotas.ts";

/** AWS's own buckets, behind a network that delays each request by any time. */
export interface ThrottlingService {
  /** Calls by their quota. */
  readonly done: Map<QuotaName, number>;
  readonly throttled: Map<QuotaName, number>;
  /** Rejects with AWS's throttle if the bucket is empty when the request arrives. */
  call(operation: Operation): Promise<void>;
}

export interface ThrottlingServiceOptions {
  readonly quotas: Readonly<Partial<Record<QuotaName, Quota>>>;
  /** The maximum additional delay of the way there. */
  readonly jitterMs: number;
  readonly now: () => number;
  readonly sleep: (delayMs: number) => Promise<void>;
}

/** The minimum delay of each direction. */
const WAY_MS = 30;

/** Creates full buckets. Its delays are the same in each run. */
export function createThrottlingService({
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
      const isDone = take(getQuotaName(operation));
      await sleep(WAY_MS);
      if (!isDone) throw Object.assign(new Error("Rate exceeded"), { name: "Throttling" });
    },
  };
}
