import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { getPercentile } from "#bench/report/percentile.ts";
import { computeSpread } from "#bench/report/spread.ts";
import { type Metric, summarize } from "#bench/report/summary.ts";
import { AT_ONCE, buildMeasurement, buildResults, buildRow } from "#test/bench/report-builders.ts";
import { SEED } from "#test/seed.ts";

describe("percentile", () => {
  test.each([
    ["the median of an odd count", [30, 10, 20], 0.5, 20],
    ["the median of an even count is the lower one", [10, 20, 30, 40], 0.5, 20],
    ["the 99th of a hundred", hundred(), 0.99, 99],
    ["the 7th of a hundred, where the product is not exact", hundred(), 0.07, 7],
    ["the 99th of few is the last", [1, 2, 3], 0.99, 3],
    ["the whole", [5, 9], 1, 9],
    ["of one value", [4], 0.01, 4],
    ["of none", [], 0.5, undefined],
  ])("%s", (_, values, share, expected) => {
    expect(getPercentile(values, share)).toBe(expected);
  });

  test("is the smallest value with at least that share of values at or below it", () => {
    const values = fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(values, fc.integer({ min: 1, max: 100 }), (sample, percent) => {
        const found = getPercentile(sample, percent / 100) ?? Number.NaN;
        const covers = (limit: number): boolean =>
          sample.filter((value) => value <= limit).length * 100 >= percent * sample.length;
        expect(sample).toContain(found);
        expect(covers(found)).toBe(true);
        expect(sample.filter((value) => value < found && covers(value))).toEqual([]);
      }),
      { seed: SEED },
    );
  });
});

describe("spreadOf", () => {
  test.each([
    ["an odd count", [3, 1, 2], { median: 2, min: 1, max: 3 }],
    ["an even count has the mean of its middle", [10, 1, 3, 4], { median: 3.5, min: 1, max: 10 }],
    ["one value", [7], { median: 7, min: 7, max: 7 }],
    ["no value", [], undefined],
  ])("%s", (_, values, expected) => {
    expect(computeSpread(values)).toEqual(expected);
  });
});

const FOUR = buildRow("4-at-once", 4, { kind: "at-once" });
const TWO_REPETITIONS = [
  buildMeasurement("run", {
    row: FOUR.id,
    latenciesMs: [10, 20, 30, 40],
    totalMs: 50,
    nodeWrites: 8,
    cloudCalls: 3,
    cpuSeconds: { contender: 0.25, kubeApiserver: 0.4, etcd: 0.1 },
  }),
  buildMeasurement("run", {
    row: FOUR.id,
    repetition: 1,
    latenciesMs: [100, 200],
    totalMs: 400,
    nodeWrites: 6,
    missingNodes: 2,
    nakedNodes: 1,
    cloudCalls: 4,
    cloudThrottled: 1,
    tooManyRequests: 5,
    peakMemoryMiB: 110,
    cpuSeconds: { contender: 0.75, kubeApiserver: 0.4, etcd: 0.3 },
  }),
];

describe("summarize", () => {
  test.each<[Metric, number, number, number]>([
    ["totalMs", 225, 50, 400],
    ["nodesPerSecond", 42.5, 5, 80],
    ["msPerNode", 106.25, 12.5, 200],
    ["p50Ms", 60, 20, 100],
    ["p99Ms", 120, 40, 200],
    ["nakedNodes", 0.5, 0, 1],
    ["missingNodes", 1, 0, 2],
    ["nodeWritesPerNode", 2.5, 2, 3],
    ["cloudCalls", 3.5, 3, 4],
    ["cloudThrottled", 0.5, 0, 1],
    ["tooManyRequests", 2.5, 0, 5],
    ["contenderCpuSeconds", 0.5, 0.25, 0.75],
    ["kubeApiserverCpuSeconds", 0.4, 0.4, 0.4],
    ["etcdCpuSeconds", 0.2, 0.1, 0.3],
    ["peakMemoryMiB", 105, 100, 110],
  ])("%s over two repetitions", (metric, median, min, max) => {
    const [summary] = summarize(buildResults(TWO_REPETITIONS, [FOUR]));
    expect(summary?.repetitions).toBe(2);
    expect(summary?.spreads[metric]).toEqual({ median, min, max });
  });

  test("without nodes that came up, the throughput is 0 and there is no latency", () => {
    const none = buildMeasurement("run", { up: 0, totalMs: 0, missingNodes: 1_000 });
    const [summary] = summarize(buildResults([none]));
    expect(summary?.spreads).toMatchObject({
      nodesPerSecond: { median: 0 },
      missingNodes: { median: 1_000 },
    });
    expect([summary?.spreads.p50Ms, summary?.spreads.p99Ms, summary?.spreads.msPerNode]).toEqual(
      Array.from({ length: 3 }, () => undefined),
    );
  });

  test("rows and contenders keep their listed order, in any order of measurement", () => {
    const measured = [
      buildMeasurement("run"),
      buildMeasurement("run", { row: FOUR.id }),
      buildMeasurement("floor"),
    ];
    const order = summarize(buildResults(measured, [FOUR, AT_ONCE])).map(({ row, contender }) => [
      row.id,
      contender,
    ]);
    expect(order).toEqual([
      [FOUR.id, "run"],
      [AT_ONCE.id, "floor"],
      [AT_ONCE.id, "run"],
    ]);
  });
});

function hundred(): number[] {
  return Array.from({ length: 100 }, (_, index) => index + 1);
}
