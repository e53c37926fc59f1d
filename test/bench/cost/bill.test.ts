import { describe, expect, test } from "vitest";
import { computeBill } from "#bench/cost/bill.ts";
import type { Workload } from "#bench/cost/prices.ts";
import { buildMeasured, buildPrices, buildWorkload } from "#test/bench/cost/builders.ts";

// Computed by hand with the given prices, warm: initializing one node is $0.002 and refreshing one $0.0015;
// any invocation logs 398 bytes for $0.000398. A month has 730 h and 8,760 refreshes.
const bill = (difference: Partial<Workload> = {}) =>
  computeBill(buildWorkload(difference), buildMeasured(), buildPrices());

describe("a million nodes", () => {
  test.each([
    // 10⁶ × $0.002; 10⁶ × $0.0015; 2 × 10⁶ × $0.000398.
    ["each alone", {}, 2_000, 1_500, 796],
    // 10⁴ × (1.09 s × $0.01 + $0.001); the resyncs are alone as before; 1.01 × 10⁶ × $0.000398.
    ["in full batches", { nodesPerInvocation: 100 }, 119, 1_500, 401.98],
    // Half way: 0.1 + 49.5 × 0.01 = 0.595 s, so $0.00695 for 50.5 nodes; logs 10⁶ × (1 + 1/50.5) × $0.000398.
    ["half way between", { nodesPerInvocation: 50.5 }, 137.623762, 1_500, 405.881188],
    // Cold: 2 s, $0.021; a resync 1 + 0.5 s, $0.016.
    ["all cold", { coldShare: 1 }, 21_000, 16_000, 796],
  ])("%s", (_given, difference, initializeUsd, secondLookUsd, logsUsd) => {
    const { millionNodes } = bill(difference);
    expect(millionNodes.initializeUsd).toBeCloseTo(initializeUsd, 5);
    expect(millionNodes.secondLookUsd).toBeCloseTo(secondLookUsd, 5);
    expect(millionNodes.logsUsd).toBeCloseTo(logsUsd, 5);
    expect(millionNodes.totalUsd).toBeCloseTo(initializeUsd + secondLookUsd + logsUsd, 5);
  });

  test("also computes all measured sizes, and the worst case last", () => {
    const others = bill({ nodesPerInvocation: 7, coldShare: 0.5 }).millionNodesOtherwise;
    const shapes = others.map(({ nodesPerInvocation, coldShare }) => [nodesPerInvocation, coldShare]);
    expect(shapes).toEqual([
      [1, 0.5],
      [100, 0.5],
      [1, 1],
    ]);
    expect(others.at(-1)?.totalUsd).toBeCloseTo(21_000 + 16_000 + 796, 5);
  });
});

describe("an idle cluster", () => {
  test.each([
    ["without nodes costs nothing", 0, 0, 0, 0],
    // 8,760 × $0.0015 and 8,760 × $0.000398.
    ["of one node", 1, 8_760, 13.14, 3.48648],
    // 8,760 × (0.149 s × $0.01 + $0.001) = 8,760 × $0.00249.
    ["of a full batch", 100, 8_760, 21.8124, 3.48648],
    // Two full batches and one node: 8,760 × (2 × $0.00249 + $0.0015).
    ["of two batches and a node", 201, 26_280, 56.7648, 10.45944],
  ])("%s", (_given, nodesPerCluster, invocations, computeUsd, logsUsd) => {
    const { idleCluster } = bill({ nodesPerCluster });
    expect(idleCluster.invocations).toBe(invocations);
    expect(idleCluster.computeUsd).toBeCloseTo(computeUsd, 6);
    expect(idleCluster.logsUsd).toBeCloseTo(logsUsd, 6);
    expect(idleCluster.totalUsd).toBeCloseTo(computeUsd + logsUsd, 6);
  });
});

describe("a month", () => {
  test("is the sum of joining nodes, existing nodes, and the relay", () => {
    const { month } = bill();
    expect(month.nodes).toBeCloseTo(730, 9);
    // 730 × ($0.002 + $0.0015), 730 × 2 × $0.000398.
    expect(month.joining.computeUsd).toBeCloseTo(2.555, 6);
    expect(month.joining.logsUsd).toBeCloseTo(0.58108, 6);
    // Ten clusters.
    expect(month.standing.computeUsd).toBeCloseTo(131.4, 6);
    expect(month.standing.logsUsd).toBeCloseTo(34.8648, 6);
    expect(month.relay.usd).toBeCloseTo(803, 6);
    expect(month.totalUsd).toBeCloseTo(2.555 + 0.58108 + 131.4 + 34.8648 + 803, 6);
  });

  test("costs only the relay without anything else", () => {
    const { month } = bill({ nodesPerDay: 0, nodesPerCluster: 0 });
    expect(month.totalUsd).toBe(month.relay.usd);
  });

  test.each([
    // 730 × (0.5 × $1 + 0.1 GB × $0.1).
    ["reserved", 372.3],
    // 730 × (0.01 × $1 + 0.1 GB × $0.1).
    ["used", 14.6],
  ] as const)("stock controllers are priced by what is %s", (by, clusterUsd) => {
    const stock = bill().stock[by];
    expect(stock.clusterUsd).toBeCloseTo(clusterUsd, 6);
    expect(stock.onePodEachUsd).toBeCloseTo(10 * clusterUsd, 6);
    expect(stock.twoPodsEachUsd).toBeCloseTo(20 * clusterUsd, 6);
  });

  test("the other architecture is priced accordingly throughout", () => {
    const { month, stock } = bill({ architecture: "x86_64" });
    // 730 × (0.1 s × $0.02 + $0.001 + 0.05 s × $0.02 + $0.001); the given relay and pods cost twice as much.
    expect(month.joining.computeUsd).toBeCloseTo(730 * 0.005, 6);
    expect(month.relay.usd).toBeCloseTo(1_606, 6);
    expect(stock.reserved.clusterUsd).toBeCloseTo(744.6, 6);
  });
});
