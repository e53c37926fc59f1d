import { describe, expect, test } from "vitest";
import { Cluster, quotaKeyOf } from "#config/cluster.ts";
import { createBudgets } from "#relay/delivery/budgets.ts";

const ROLE = "arn:aws:iam::123456789012:role/ccm";

const cluster = (name: string, cloud: object = {}, limits: object = {}): Cluster =>
  Cluster.parse({
    name,
    server: "https://fake.invalid",
    cloud: { provider: "aws", region: "eu-central-1", vpc: "vpc-1", roleArn: ROLE, ...cloud },
    limits,
  });

const UNHINDERED = { throttled: 0, waitedMs: 0 };
const THROTTLED = { throttled: 1, waitedMs: 0 };
const WAITED = { throttled: 0, waitedMs: 10 };

describe("quotaKeyOf", () => {
  const base = quotaKeyOf(cluster("a"));
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
    expect(quotaKeyOf(cluster("b", cloud)) === base).toBe(same);
  });
});

describe("shares", () => {
  test("of all that is in flight are never more than twice the whole, but for floors", () => {
    const budgets = createBudgets();
    const shares = ["a", "b", "c"].flatMap((name) =>
      Array.from({ length: 4 }, () => budgets.begin(cluster(name, {}, { floorShare: 0.001 }), 0).share),
    );
    expect(shares.reduce((sum, share) => sum + share, 0)).toBeLessThanOrEqual(2 + shares.length * 0.001);
    expect(Math.min(...shares)).toBeGreaterThan(0);
  });

  test("of one account do not touch those of another", () => {
    const budgets = createBudgets();
    budgets.begin(cluster("a"), 0).end(THROTTLED, 5_000);
    expect(budgets.begin(cluster("b", { region: "us-east-1" }), 5_000).share).toBe(1);
  });

  test("halve once for one burst of throttling, whoever reports it", () => {
    const budgets = createBudgets();
    const grants = Array.from({ length: 4 }, () => budgets.begin(cluster("a"), 0));
    for (const grant of grants) grant.end(THROTTLED, 5_000);
    expect(budgets.begin(cluster("a"), 5_000).share).toBeCloseTo(0.5);
  });

  test("fall to the floor and no further, and grow back slowly to the whole", () => {
    const budgets = createBudgets();
    for (let second = 1; second < 60; second += 1)
      budgets.begin(cluster("a"), second * 1_000).end(THROTTLED, second * 1_000);
    const share = (atMs: number) => {
      const grant = budgets.begin(cluster("a"), atMs);
      grant.end(UNHINDERED, atMs);
      return grant.share;
    };
    expect(share(59_000)).toBe(0.05);
    expect(share(80_000)).toBeLessThan(0.3);
    expect(share(200_000)).toBe(1);
  });

  test.each([
    { given: "alone", before: 0, afterMs: 0, share: 1 },
    { given: "right after four at a time", before: 4, afterMs: 0, share: 0.5 },
    { given: "a while after four at a time", before: 4, afterMs: 5_000, share: 1 },
    { given: "long after four at a time", before: 4, afterMs: 60_000, share: 1 },
  ])("of one that comes $given is $share", ({ before, afterMs, share }) => {
    const budgets = createBudgets();
    const grants = Array.from({ length: before }, () => budgets.begin(cluster("a"), 0));
    for (const grant of grants) grant.end(UNHINDERED, 0);
    expect(budgets.begin(cluster("a"), afterMs).share).toBe(share);
  });

  test("given back twice count once", () => {
    const budgets = createBudgets();
    const [first] = Array.from({ length: 20 }, () => budgets.begin(cluster("a"), 0));
    first?.end(UNHINDERED, 0);
    first?.end(UNHINDERED, 0);
    budgets.begin(cluster("a"), 0);
    expect(budgets.mayBegin(cluster("b"), 1, () => {})).toBe(false);
  });

  test("a full account lets every cluster begin one, and none a second", () => {
    const budgets = createBudgets();
    for (let index = 0; index < 20; index += 1) budgets.begin(cluster(`c${index}`), 0);
    expect([0, 1].map((inFlight) => budgets.mayBegin(cluster("x"), inFlight, () => {}))).toEqual([
      true,
      false,
    ]);
  });

  test("a full account calls those that wait when one is given back, and nobody else", () => {
    const budgets = createBudgets();
    const grants = Array.from({ length: 20 }, () => budgets.begin(cluster("a"), 0));
    const called: string[] = [];
    const forgets = (): void => void called.push("forgets");
    budgets.mayBegin(cluster("b"), 1, () => void called.push("waits"));
    budgets.mayBegin(cluster("c"), 1, forgets);
    budgets.mayBegin(cluster("d"), 0, () => void called.push("may begin"));
    budgets.forget(forgets);
    grants[0]?.end(UNHINDERED, 0);
    grants[1]?.end(UNHINDERED, 0);
    expect(called).toEqual(["waits"]);
  });
});

describe("spacing", () => {
  const spacingAfter = (uses: readonly { throttled: number; waitedMs: number }[]): number => {
    const budgets = createBudgets();
    for (const use of uses) budgets.begin(cluster("a"), 0).end(use, 0);
    return budgets.spacingMs(cluster("b"));
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
    {
      given: "many that waited and many that did not",
      uses: [...Array(50).fill(WAITED), ...Array(100).fill(UNHINDERED)],
      ms: 0,
    },
  ])("after $given is $ms ms, for all clusters of the account", ({ uses, ms }) => {
    expect(spacingAfter(uses)).toBe(ms);
  });

  test("is as it was after an invocation of which nothing is known", () => {
    const budgets = createBudgets();
    budgets.begin(cluster("a"), 0).end(WAITED, 0);
    budgets.begin(cluster("a"), 0).end(undefined, 0);
    expect(budgets.spacingMs(cluster("a"))).toBe(50);
  });
});
