import { describe, expect, test } from "vitest";
import { createRefreshAllowance } from "#relay/delivery/refresh-allowance.ts";
import { createRandom } from "#test/faults/random.ts";
import { SEED } from "#test/seed.ts";

const PER_SECOND = 1;

/**
 * Simulates clusters that ask every ten seconds for an hour. Returns how often each was refreshed, and its
 * longest wait.
 */
function play(clusters: number) {
  const allowance = createRefreshAllowance();
  const random = createRandom(SEED);
  const refreshed = Array.from({ length: clusters }, () => ({ count: 0, resyncedMs: 0, longestMs: 0 }));
  const asked = refreshed.map((cluster) => ({ cluster, atMs: random.next() * 10_000 }));
  for (let nowMs = 0; nowMs < 3_600_000; nowMs += 100) {
    for (const each of asked.filter(({ atMs }) => atMs <= nowMs)) {
      const { cluster } = each;
      each.atMs += 10_000 * (0.9 + 0.2 * random.next());
      const { resyncedMs } = cluster;
      const request = { controller: "route", quotaKey: "a", perSecond: PER_SECOND, resyncedMs };
      if (!allowance.take(request, nowMs)) continue;
      cluster.longestMs = Math.max(cluster.longestMs, nowMs - resyncedMs);
      cluster.resyncedMs = nowMs;
      cluster.count += 1;
    }
  }
  return refreshed;
}

describe("refreshes of the clusters of one account", () => {
  test("run every ten seconds for ten clusters", () => {
    for (const { count, longestMs } of play(10)) {
      expect(count).toBeGreaterThan(340);
      expect(longestMs).toBeLessThan(25_000);
    }
  });

  test("run once a second for three hundred, and for each cluster at least every ten minutes", () => {
    const refreshed = play(300);
    const all = refreshed.reduce((sum, { count }) => sum + count, 0);
    expect(all).toBeGreaterThan(3_500);
    // One a second and the saved allowance, plus clusters whose ten minutes are over.
    expect(all).toBeLessThan(3_600 + 10 + 300 * 6);
    for (const { longestMs } of refreshed) expect(longestMs).toBeLessThan(611_100);
  });

  test("do not use the allowance of another account or another controller", () => {
    const allowance = createRefreshAllowance();
    const request = { controller: "route", quotaKey: "a", perSecond: PER_SECOND, resyncedMs: 0 };
    const allowed = Array.from({ length: 20 }, () => allowance.take(request, 0)).filter(Boolean);
    expect(allowed).toHaveLength(10);
    expect(allowance.take({ ...request, quotaKey: "b" }, 0)).toBe(true);
    expect(allowance.take({ ...request, controller: "other" }, 0)).toBe(true);
    expect(allowance.take(request, 999)).toBe(false);
    expect(allowance.take(request, 1_999)).toBe(true);
  });
});
