import { describe, expect, test } from "vitest";
import { Cluster, getQuotaKey } from "#config/cluster.ts";
import { createQuota } from "#relay/delivery/limiter-account.ts";

const ROLE = "arn:aws:iam::123456789012:role/ccm";

const cluster = (name: string, cloud: object = {}): Cluster =>
  Cluster.parse({
    name,
    server: "https://fake.invalid",
    cloud: { provider: "aws", region: "eu-central-1", vpc: "vpc-1", roleArn: ROLE, ...cloud },
  });

const FLOOR = 0.05;
const UNHINDERED = { calls: 1, throttled: 0, waitedMs: 0 };
const THROTTLED = { calls: 1, throttled: 1, waitedMs: 0 };
const WAITED = { calls: 1, throttled: 0, waitedMs: 10 };

describe("quotaKeyOf", () => {
  const base = getQuotaKey(cluster("a"));
  test.each([
    { given: "another cluster of the same account and region", cloud: { vpc: "vpc-2" }, same: true },
    {
      given: "another role of the same account",
      cloud: { roleArn: "arn:aws:iam::123456789012:role/other" },
      same: true,
    },
    { given: "another account", cloud: { roleArn: "arn:aws:iam::210987654321:role/ccm" }, same: false },
    { given: "another region", cloud: { region: "us-east-1" }, same: false },
    { given: "no role", cloud: { roleArn: undefined }, same: false },
  ])("$given: same quotas: $same", ({ cloud, same }) => {
    expect(getQuotaKey(cluster("b", cloud)) === base).toBe(same);
  });

  test.each([
    { provider: "no-cloud" },
    { provider: "keepalived", configMap: "vips", serviceCIDR: "10.0.0.0/24" },
    { provider: "kubevip" },
    { provider: "rancher", distribution: "k3s" },
  ])("is the cluster's own if no cloud API is called: $provider", (cloud) => {
    const keyOf = (name: string) =>
      getQuotaKey(Cluster.parse({ name, server: "https://fake.invalid", cloud }));
    expect(keyOf("a")).toBe(keyOf("a"));
    expect(keyOf("a")).not.toBe(keyOf("b"));
  });
});

describe("shares", () => {
  test("of everything in flight add up to at most twice the whole, except for floors", () => {
    const quota = createQuota(0);
    const shares = Array.from({ length: 12 }, () => quota.begin(0.001, 0));
    expect(shares.reduce((sum, share) => sum + share, 0)).toBeLessThanOrEqual(2 + shares.length * 0.001);
    expect(Math.min(...shares)).toBeGreaterThan(0);
  });

  test("halve once for one burst of throttling, however many report it", () => {
    const quota = createQuota(0);
    const shares = Array.from({ length: 4 }, () => quota.begin(FLOOR, 0));
    for (const share of shares) quota.end(share, FLOOR, THROTTLED, 5_000);
    expect(quota.begin(FLOOR, 5_000)).toBeCloseTo(0.5);
  });

  test.each([
    { given: "one of a hundred calls", calls: 100, throttled: [1], share: 0.95 },
    { given: "one of twenty calls", calls: 20, throttled: [1], share: 0.75 },
    { given: "all calls", calls: 20, throttled: [20], share: 0.5 },
    { given: "more calls than reported", calls: 0, throttled: [3], share: 0.5 },
    { given: "calls of several, of which the worst counts", calls: 100, throttled: [1, 6, 2], share: 0.7 },
  ])("fall with the throttled part of calls: $given", ({ calls, throttled, share }) => {
    const quota = createQuota(0);
    const shares = throttled.map(() => quota.begin(FLOOR, 0));
    for (const [index, each] of shares.entries())
      quota.end(each, FLOOR, { calls, throttled: throttled[index] ?? 0, waitedMs: 0 }, 20_000);
    expect(quota.begin(FLOOR, 20_000)).toBeCloseTo(share);
  });

  test("fall again for throttles in the next second", () => {
    const quota = createQuota(0);
    for (const second of [1, 2])
      quota.end(
        quota.begin(FLOOR, second * 1_000),
        FLOOR,
        { calls: 20, throttled: 1, waitedMs: 0 },
        second * 1_000,
      );
    expect(quota.begin(FLOOR, 2_000)).toBeCloseTo(0.76 * 0.75);
  });

  test("fall to the floor and no further, and slowly grow back to the whole", () => {
    const quota = createQuota(0);
    for (let second = 1; second < 60; second += 1)
      quota.end(quota.begin(FLOOR, second * 1_000), FLOOR, THROTTLED, second * 1_000);
    const shareAt = (atMs: number): number => {
      const share = quota.begin(FLOOR, atMs);
      quota.end(share, FLOOR, UNHINDERED, atMs);
      return share;
    };
    expect(shareAt(59_000)).toBe(FLOOR);
    expect(shareAt(80_000)).toBeLessThan(0.3);
    expect(shareAt(200_000)).toBe(1);
  });

  test.each([
    { given: "alone", before: 0, afterMs: 0, share: 1 },
    { given: "right after four at a time", before: 4, afterMs: 0, share: 0.5 },
    { given: "a while after four at a time", before: 4, afterMs: 5_000, share: 1 },
    { given: "long after four at a time", before: 4, afterMs: 60_000, share: 1 },
  ])("of an invocation that comes $given is $share", ({ before, afterMs, share }) => {
    const quota = createQuota(0);
    const shares = Array.from({ length: before }, () => quota.begin(FLOOR, 0));
    for (const each of shares) quota.end(each, FLOOR, UNHINDERED, 0);
    expect(quota.begin(FLOOR, afterMs)).toBe(share);
  });
});

describe("spacing", () => {
  const spacingAfter = (uses: readonly (typeof WAITED | undefined)[]): number => {
    const quota = createQuota(0);
    for (const use of uses) quota.end(quota.begin(FLOOR, 0), FLOOR, use, 0);
    return quota.spacingMs();
  };
  test.each([
    { given: "nothing", uses: [], ms: 0 },
    { given: "calls that went at once", uses: [UNHINDERED, UNHINDERED], ms: 0 },
    { given: "a call that waited", uses: [WAITED], ms: 50 },
    { given: "a call that was throttled", uses: [THROTTLED], ms: 50 },
    { given: "two that waited", uses: [WAITED, WAITED], ms: 62.5 },
    { given: "many that waited", uses: Array(50).fill(WAITED), ms: 500 },
    { given: "one that waited and one that did not", uses: [WAITED, UNHINDERED], ms: 48.5 },
    { given: "one that waited and two that did not", uses: [WAITED, UNHINDERED, UNHINDERED], ms: 0 },
    { given: "one that waited and one of which nothing is known", uses: [WAITED, undefined], ms: 50 },
    {
      given: "many that waited and many that did not",
      uses: [...Array(50).fill(WAITED), ...Array(100).fill(UNHINDERED)],
      ms: 0,
    },
  ])("after $given is $ms ms, for all clusters of the account", ({ uses, ms }) => {
    expect(spacingAfter(uses)).toBe(ms);
  });
});
