import { describe, expect, test } from "vitest";
import { countClustersPerTask, getReservedUsd, selectRelayTasks } from "#bench/cost/always-on.ts";
import { buildMeasured, buildPrices } from "#test/bench/cost/builders.ts";

const { relay } = buildMeasured();
const prices = buildPrices();

describe("resources reserved all the time", () => {
  test.each([
    // 730 h × (1 × $1 + 2 × $0.1).
    ["arm64", 1, 2, 876],
    // 730 h × (1 × $2 + 2 × $0.2).
    ["x86_64", 1, 2, 1_752],
    ["arm64", 0, 0, 0],
  ] as const)("on %s %d vCPU and %d GB", (architecture, vcpu, gb, expected) => {
    expect(getReservedUsd({ vcpu, gb }, prices, architecture)).toBeCloseTo(expected, 9);
  });
});

// The relay needs 101 MiB and 0.001 vCPU for one cluster, and 1 MiB and 0.001 vCPU more for each other one.
// It may use half of a task.
describe("clusters of one relay", () => {
  test.each([
    // 512 MiB: 1 + (512 − 101). By CPU it could be 1 + (0.5 − 0.001) / 0.001 = 500.
    ["bounded by memory", { vcpu: 1, gb: 1 }, 412],
    // By memory, 1,024 MiB, it could be 924.
    ["bounded by CPU", { vcpu: 1, gb: 2 }, 500],
    ["at least one, however small", { vcpu: 0.001, gb: 0.01 }, 1],
  ])("%s", (_given, size, expected) => {
    expect(countClustersPerTask(size, relay)).toBe(expected);
  });

  test("a constant need sets no bound", () => {
    const flat = { ...relay, many: { ...relay.many, memoryMiB: relay.few.memoryMiB } };
    expect(countClustersPerTask({ vcpu: 1, gb: 1 }, flat)).toBe(500);
  });
});

// A month of { 1 vCPU, 1 GB } is 730 × 1.1 = 803, of { 1, 2 } 876, of { 4, 8 } 730 × 4.8 = 3,504.
describe("the cheapest tasks", () => {
  test.each([
    ["few clusters: the smallest", 10, 1, { vcpu: 1, gb: 1 }, 803],
    ["as many as the smallest holds", 412, 1, { vcpu: 1, gb: 1 }, 803],
    ["one more: the next", 413, 1, { vcpu: 1, gb: 2 }, 876],
    // Two of { 1, 1 } hold 824 and cost 1,606; two of { 1, 2 } 1,752; one of { 4, 8 } 3,504.
    ["too many for one of them: two of the smallest", 501, 2, { vcpu: 1, gb: 1 }, 1_606],
    // 2,000: of { 1, 1 } five, 4,015; of { 1, 2 } four, 3,504; of { 4, 8 } two, as one holds 1 + (2 − 0.001)
    // / 0.001 = 2,000: one, 3,504.
    ["equally cheap: the first of the list", 2_000, 1, { vcpu: 4, gb: 8 }, 3_504],
  ])("%s", (_given, clusters, count, size, usd) => {
    expect(selectRelayTasks(clusters, relay, prices, "arm64")).toEqual({
      count,
      size,
      usd: expect.closeTo(usd, 6),
    });
  });

  test("rejects an empty list of sizes", () => {
    const none = { ...prices, fargate: { ...prices.fargate, taskSizes: [] } };
    expect(() => selectRelayTasks(1, relay, none, "arm64")).toThrow(RangeError);
  });
});
