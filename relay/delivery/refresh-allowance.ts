/**
 * Bounds the refreshes of controllers whose every refresh calls the cloud: of all clusters of a cloud account together, so many a second.
 * Few clusters are refreshed as often as they say, and of many each has its turn less often; one that was not refreshed for
 * `LONGEST_MS` is refreshed in any case.
 */
export interface RefreshAllowance {
  /** Whether a cluster that was last looked at `lookedMs` may be refreshed now; what is allowed is spent. */
  take(request: RefreshRequest, nowMs: number): boolean;
}

/** Who asks. */
export interface RefreshRequest {
  readonly controller: string;
  /** Equal for clusters that spend from the same API quotas of a cloud. */
  readonly quotaKey: string;
  readonly perSecond: number;
  readonly lookedMs: number;
}

/** Saved up at most, so that clusters that are refreshed at the same moment by chance need not wait for their next turn. */
const BURST = 10;

/** The longest time between two refreshes, where the cluster asks for no longer one. */
const LONGEST_MS = 600_000;

/** Accounts that are remembered; the oldest is forgotten first, and begins anew. */
const MAX_ACCOUNTS = 1_000;

/** Nothing was spent yet. */
export function createRefreshAllowance(): RefreshAllowance {
  const buckets = new Map<string, { readonly tokens: number; readonly atMs: number }>();
  return {
    take({ controller, quotaKey, perSecond, lookedMs }, nowMs) {
      const key = `${controller} ${quotaKey}`;
      const { tokens, atMs } = buckets.get(key) ?? { tokens: BURST, atMs: nowMs };
      const saved = Math.min(BURST, tokens + (Math.max(0, nowMs - atMs) / 1_000) * perSecond);
      const isAllowed = saved >= 1 || nowMs - lookedMs >= LONGEST_MS;
      buckets.delete(key);
      buckets.set(key, { tokens: isAllowed ? Math.max(0, saved - 1) : saved, atMs: Math.max(atMs, nowMs) });
      const [oldest] = buckets.keys();
      if (buckets.size > MAX_ACCOUNTS && oldest !== undefined) buckets.delete(oldest);
      return isAllowed;
    },
  };
}
