import { describe, expect, test } from "vitest";
import type { ContenderName, Measurement, Row } from "#bench/measurement.ts";
import {
  type Candidate,
  type Goal,
  isMet,
  judgeTargets,
  TARGETS,
  type Target,
  type TargetResult,
} from "#bench/report/targets.ts";
import { AT_ONCE, buildMeasurement, buildResults, buildRow } from "#test/bench/report-builders.ts";

const FIVE_THOUSAND = buildRow("5000-at-once", 5_000, { kind: "at-once" });
const ROWS = [
  buildRow("1000-there", 1_000, { kind: "there" }),
  AT_ONCE,
  buildRow("500-at-once-without-ids", 500, { kind: "at-once" }, false),
  buildRow("2000-at-33-per-second", 2_000, { kind: "rate", nodesPerSecond: 33 }),
  FIVE_THOUSAND,
];

describe("meets", () => {
  test.each<[string, number, Goal, boolean]>([
    ["just at most", 1.15, { kind: "at-most", limit: 1.15 }, true],
    ["a little more than at most", 1.1501, { kind: "at-most", limit: 1.15 }, false],
    ["just at least", 30, { kind: "at-least", limit: 30 }, true],
    ["a little less than at least", 29.99, { kind: "at-least", limit: 30 }, false],
    ["exactly, to a tenth", 2.049, { kind: "exactly", limit: 2 }, true],
    ["a tenth too many", 2.05, { kind: "exactly", limit: 2 }, false],
    ["a tenth too few", 1.94, { kind: "exactly", limit: 2 }, false],
  ])("%s", (_, measured, wanted, expected) => {
    expect(isMet(measured, wanted)).toBe(expected);
  });
});

describe("a run with everything measured", () => {
  // The candidate compared with its rivals: 36 times the defaults, twice the tuned one, 1.1 times the floor.
  const totals = { floor: 2_000, "stock-defaults": 79_200, "stock-tuned": 4_400, run: 2_200 } as const;
  const measured = ROWS.flatMap((row) =>
    (Object.keys(totals) as (keyof typeof totals)[]).map((contender) =>
      buildMeasurement(contender, {
        row: row.id,
        up: row.nodes,
        // Equally fast per node in the row of 5,000, and eight times faster without provider IDs.
        totalMs:
          totals[contender] * (row.nodes / 1_000) * (!row.providerIds && contender === "stock-tuned" ? 4 : 1),
        latencyMs: contender === "run" ? 100 : 400,
      }),
    ),
  );

  test("meets every target", () => {
    const verdicts = judgeTargets(buildResults(measured, ROWS), "run");
    expect(verdicts.filter(({ outcome }) => outcome !== "met")).toEqual([]);
    expect(verdicts).toHaveLength(TARGETS.length);
  });

  test("has the quotients calculated by hand", () => {
    const measuredOf = judgeTargets(buildResults(measured, ROWS), "run").map(
      ({ target, measured: value }) => [
        target.row,
        target.metric,
        value === undefined ? undefined : Number(value.toFixed(6)),
      ],
    );
    expect(measuredOf).toEqual([
      ["1000-at-once", "totalMs", 1.1],
      ["1000-at-once", "nodesPerSecond", 36],
      ["1000-at-once", "nodesPerSecond", 2],
      ["1000-at-once", "p50Ms", 0.25],
      ["1000-at-once", "nodeWritesPerNode", 2],
      ["1000-at-once", "tooManyRequests", 0],
      ["1000-at-once", "cloudCalls", 10],
      ["1000-at-once", "nakedNodes", 0],
      ["1000-there", "cloudCalls", 10],
      ["500-at-once-without-ids", "nodesPerSecond", 8],
      ["500-at-once-without-ids", "cloudThrottled", 0],
      ["2000-at-33-per-second", "p50Ms", 100],
      ["2000-at-33-per-second", "p50Ms", 0.25],
      ["2000-at-33-per-second", "p99Ms", 100],
      ["2000-at-33-per-second", "contenderCpuSeconds", 1],
      ["5000-at-once", "totalMs", 1.1],
      ["5000-at-once", "totalMs", 0.5],
      ["5000-at-once", "msPerNode", 1],
      ["5000-at-once", "peakMemoryMiB", 100],
    ]);
  });

  test("omits the other candidate", () => {
    const outcomes = judgeTargets(buildResults(measured, ROWS), "lambda").map(({ outcome }) => outcome);
    expect(new Set(outcomes)).toEqual(new Set(["not measured"]));
  });
});

describe("the limits", () => {
  test.each<[string, Target["metric"], Partial<Measurement>, Partial<Measurement>]>([
    ["1000-at-once", "nodeWritesPerNode", { nodeWrites: 2_040 }, { nodeWrites: 2_060 }],
    ["1000-at-once", "tooManyRequests", { tooManyRequests: 0 }, { tooManyRequests: 1 }],
    ["1000-at-once", "cloudCalls", { cloudCalls: 50 }, { cloudCalls: 51 }],
    ["1000-at-once", "nakedNodes", { nakedNodes: 0 }, { nakedNodes: 1 }],
    ["1000-there", "cloudCalls", { cloudCalls: 15 }, { cloudCalls: 16 }],
    ["500-at-once-without-ids", "cloudThrottled", { cloudThrottled: 0 }, { cloudThrottled: 1 }],
    ["5000-at-once", "peakMemoryMiB", { peakMemoryMiB: 200 }, { peakMemoryMiB: 201 }],
  ])("%s: %s", (row, metric, within, beyond) => {
    const outcomeOf = (...differences: Partial<Measurement>[]): string | undefined =>
      judgeTargets(
        buildResults(
          differences.map((one) => buildMeasurement("run", { row, ...one })),
          ROWS,
        ),
        "run",
      ).find(({ target }) => target.row === row && target.metric === metric)?.outcome;
    expect(outcomeOf(within)).toBe("met");
    // One bad repetition among good ones is enough.
    expect(outcomeOf(within, within, beyond)).toBe("not met");
  });

  test.each<[string, Target["metric"], number, string]>([
    ["p50 of 150 ms", "p50Ms", 150, "met"],
    ["p50 of 151 ms", "p50Ms", 151, "not met"],
    ["p99 of 400 ms", "p99Ms", 400, "met"],
    ["p99 of 401 ms", "p99Ms", 401, "not met"],
  ])("at a rate, %s", (_, metric, latencyMs, outcome) => {
    const row = "2000-at-33-per-second";
    const [verdict] = judgeTargets(
      buildResults([buildMeasurement("run", { row, latencyMs })], ROWS),
      "run",
      TARGETS.filter((target) => target.row === row && target.metric === metric && target.over === undefined),
    );
    expect(verdict?.outcome).toBe(outcome);
  });
});

describe("the floor with equal writes", () => {
  test.each<[string, number, ContenderName, number]>([
    ["without Events", 0, "floor", 2],
    ["with Events of few nodes", 499, "floor", 2],
    ["with Events of half of the nodes", 500, "floor-with-events", 1],
  ])("%s", (_, eventWrites, floor, measured) => {
    const verdict = onlyVerdict(TARGETS[0], [
      buildMeasurement("floor", { totalMs: 1_000 }),
      buildMeasurement("floor-with-events", { totalMs: 2_000 }),
      buildMeasurement("run", { totalMs: 2_000, eventWrites }),
    ]);
    expect(verdict).toMatchObject({ measured, comparedWith: { contender: floor, row: AT_ONCE.id } });
  });
});

describe("missing measurements", () => {
  const [overFloor, overDefaults, overTuned] = TARGETS;
  const run = buildMeasurement("run");

  test.each<[string, Target | undefined, Measurement[], Partial<TargetResult>]>([
    [
      "the candidate",
      overFloor,
      [buildMeasurement("floor")],
      { outcome: "not measured", remark: "no measurement of run in 1000-at-once" },
    ],
    [
      "the floor",
      overFloor,
      [run],
      { outcome: "not measured", remark: "no measurement of floor in 1000-at-once" },
    ],
    [
      "any node of the contender compared with",
      overDefaults,
      [run, buildMeasurement("stock-defaults", { up: 0, missingNodes: 1_000 })],
      { outcome: "not measured", remark: "there is nothing to divide by" },
    ],
    [
      "a node of the contender compared with",
      overTuned,
      [run, buildMeasurement("stock-tuned", { up: 999, missingNodes: 1, totalMs: 9_990 })],
      { outcome: "met", measured: 5, remark: "of stock-tuned's, 1 node never came up" },
    ],
    [
      "two nodes of the candidate",
      overFloor,
      [buildMeasurement("floor"), buildMeasurement("run", { missingNodes: 2 })],
      { outcome: "not met", measured: 1, remark: "2 nodes never came up" },
    ],
    [
      "a node of the candidate in the row compared with",
      TARGETS.find(({ over }) => over?.kind === "row"),
      [
        buildMeasurement("run", { row: FIVE_THOUSAND.id, up: 5_000, totalMs: 5_000 }),
        buildMeasurement("run", { up: 1_000, missingNodes: 1 }),
      ],
      { outcome: "not met", measured: 0.5, remark: "1 node never came up" },
    ],
  ])("%s", (_, target, measured, expected) => {
    expect(onlyVerdict(target, measured)).toMatchObject(expected);
  });
});

function onlyVerdict(
  target: Target | undefined,
  measured: Measurement[],
  rows: Row[] = ROWS,
  candidate: Candidate = "run",
) {
  return judgeTargets(buildResults(measured, rows), candidate, target === undefined ? [] : [target])[0];
}

describe("a missed target, compared with the stock controller", () => {
  const overTuned = TARGETS[2];
  const given = (floorMs: number) => [
    buildMeasurement("floor", { totalMs: floorMs }),
    buildMeasurement("stock-tuned", { totalMs: 3_000 }),
    buildMeasurement("run", { totalMs: 2_000 }),
  ];

  test.each([
    ["is remarked with what the floor reaches", 1_500, "the floor: 2 ×"],
    ["says where the floor does not reach it either", 1_950, "nor does the floor: 1.54 ×"],
  ])("%s", (_, floorMs, remark) => {
    expect(onlyVerdict(overTuned, given(floorMs))).toMatchObject({
      outcome: "not met",
      measured: 1.5,
      remark,
    });
  });
});
