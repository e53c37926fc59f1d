import { setNewest } from "#core/bounded-map.ts";
import { refillBucket, type TokenBucket } from "#core/token-bucket.ts";
/**
 * Limits the refreshes of controllers that call the cloud each time: a number a second for all clusters of a
 * cloud account.
 *
 * Few clusters are refreshed at their own interval; many take turns less often. A cluster that was not
 * refreshed for `LONGEST_MS` is refreshed anyway.
 */
export interface RefreshAllowance {
  /**
   * Returns whether a cluster that was last resynced at `getResyncedMs` may be refreshed now, and counts it
   * if so.
   */
  take(request: RefreshRequest, nowMs: number): boolean;
}

/** A request to refresh a cluster. */
export interface RefreshRequest {
  readonly controller: string;
  /** Equal for clusters that share the API quotas of a cloud. */
  readonly quotaKey: string;
  readonly perSecond: number;
  readonly resyncedMs: number;
}

/**
 * The largest saved allowance, so that clusters that become due together by chance do not wait for another
 * turn.
 */
const BURST = 10;

/** The longest time between two refreshes, unless the cluster asks for a longer one. */
const LONGEST_MS = 600_000;

/** The number of remembered accounts; the oldest is dropped first and starts over. */
const MAX_ACCOUNTS = 1_000;

/** Creates an allowance of which nothing is spent. */
export function createRefreshAllowance(): RefreshAllowance {
  const buckets = new Map<string, TokenBucket>();
  return {
    take({ controller, quotaKey, perSecond, resyncedMs }, nowMs) {
      const key = `${controller} ${quotaKey}`;
      const bucket = buckets.get(key) ?? { tokens: BURST, refilledAt: nowMs };
      refillBucket(bucket, { burst: BURST, perSecond }, nowMs);
      const isAllowed = bucket.tokens >= 1 || nowMs - resyncedMs >= LONGEST_MS;
      if (isAllowed) bucket.tokens = Math.max(0, bucket.tokens - 1);
      setNewest(buckets, key, bucket, MAX_ACCOUNTS);
      return isAllowed;
    },
  };
}
