import { describe, expect, test } from "vitest";
import { selectHostileArguments } from "#bench/flags.ts";
import { getJoiningRise, listMisses } from "#bench/hostile/bar.ts";
import { HostilePhase, type HostileResults } from "#bench/hostile/measurement.ts";
import {
  countInvocations,
  listNewLimits,
  listPageIssues,
  parseLimits,
} from "#bench/hostile/operator-view.ts";
import { formatHostileRun } from "#bench/hostile/report.ts";
import { formatRounds } from "#bench/hostile/rounds-report.ts";
import { summarizeJoining } from "#bench/hostile/watch-phase.ts";

const QUIET = phase({ name: "quiet", peakMiB: 150 });

describe("the bar", () => {
  test.each<[string, Partial<HostilePhase>, string[]]>([
    ["all within it", {}, []],
    ["joining a tenth slower", { joiningP50Ms: 110 }, ["joining"]],
    ["joining just below a tenth slower", { joiningP50Ms: 109 }, []],
    ["no node at all", { nodes: 0, joiningP50Ms: 0 }, ["joining"]],
    ["a node that never came up", { missing: 1 }, ["nodes missing"]],
    ["a slow healthz", { healthzP99Ms: 100 }, ["healthz"]],
    ["an unanswered healthz", { healthzFailures: 1 }, ["healthz"]],
    ["more memory than the quiet relay's and 150 MiB", { peakMiB: 301 }, ["memory"]],
    ["as much as that", { peakMiB: 300 }, []],
    ["too much log in half a minute", { seconds: 30, logBytes: 500_001 }, ["log"]],
    ["named on pages alone", { inMetrics: [] }, ["not named"]],
    ["named in metrics alone", { onPages: [] }, ["not named"]],
    ["nothing to be named", { name: "creation-1970", onPages: [], inMetrics: [] }, []],
    ["never well again", { healedSeconds: undefined }, ["not healed"]],
    ["a relay that ended", { ended: true }, ["the relay ended"]],
    ["noise, which has nothing to heal of", { name: "noise", healedSeconds: undefined, onPages: [] }, []],
  ])("%s", (_, difference, misses) => {
    expect(listMisses(phase(difference), QUIET)).toEqual(misses);
  });

  test("the rise is the rise of the median", () => {
    expect(getJoiningRise(phase({ joiningP50Ms: 150 }), QUIET)).toBeCloseTo(0.5);
    expect(getJoiningRise(phase({ joiningP50Ms: 150 }), phase({ joiningP50Ms: 0 }))).toBeUndefined();
  });
});

describe("the operator's view", () => {
  test.each([
    ["honest ok\nhostile limited: objects: more than 10000\nhostile-2 limited: pageBytes: x\n", ["objects"]],
    ["hostile not ready: ClusterLimited: watchPace\n", ["ClusterLimited"]],
    ["cluster hostile is not ready: Forbidden: no\n", ["Forbidden"]],
    ["honest not ready: Forbidden: hostile limited: objects\nhostile ok\n", []],
  ])("on %s", (page, troubles) => {
    expect(listPageIssues(page, "hostile")).toEqual(troubles);
  });

  const metrics = [
    'serverless_ccm_cluster_limited{cluster="hostile",limit="objects"} 1',
    'serverless_ccm_cluster_limits_total{cluster="hostile",limit="objects"} 2',
    'serverless_ccm_cluster_limits_total{limit="logLines",cluster="hostile"} 4',
    'serverless_ccm_cluster_limits_total{cluster="honest",limit="pageBytes"} 9',
    'serverless_ccm_invocations_total{cluster="hostile",controller="a",result="report"} 5',
    'serverless_ccm_invocations_total{cluster="honest",controller="a",result="report"} 7',
  ].join("\n");

  test("in metrics", () => {
    const limits = parseLimits(metrics, "hostile");
    expect([...limits]).toEqual([
      ["objects", 3],
      ["logLines", 4],
    ]);
    expect(listNewLimits(new Map([["logLines", 4]]), limits)).toEqual(["objects"]);
    expect([countInvocations(metrics), countInvocations(metrics, "hostile")]).toEqual([12, 5]);
  });
});

test("nodes belong to the row in which they joined, and a missing node counts with the full waiting time", () => {
  const joined = [
    { joinedAtMs: 5, tookMs: 1 },
    { joinedAtMs: 10, tookMs: 100 },
    { joinedAtMs: 15 },
    { joinedAtMs: 20, tookMs: 1 },
  ];
  expect(summarizeJoining(joined, 10, 20)).toEqual({
    nodes: 2,
    missing: 1,
    joiningP50Ms: 100,
    joiningP99Ms: 30_000,
  });
});

describe("the section on hostile clusters", () => {
  test("has a row for each attack, with its verdict", () => {
    const attacked = phase({ name: "text", joiningP50Ms: 90, healthzP99Ms: 250 });
    const lines = formatHostileRun(results([QUIET, attacked])).split("\n");
    expect(lines.find((line) => line.startsWith("| text"))).toBe(
      "| text | 100 ms → 90 ms (−10 %) | 200 ms | 1 ms, 250 ms | 200 MiB (+50) | 0.001 MB | 300 (5) | 9 MB | objects | 2 s | missed: healthz |",
    );
    expect(lines[0]).toContain("one relay of 100 clusters");
  });

  test("states that there are no measurements", () => {
    expect(formatHostileRun(results([]))).toBe("Nothing has been measured yet.\n");
  });
});

describe("the section on rounds", () => {
  const pair = (round: number, sinkMs: number, attackedMs: number, more: Partial<HostilePhase> = {}) => ({
    round,
    attack: "silence",
    sink: phase({ name: "sink silence", joiningP50Ms: sinkMs }),
    attacked: phase({ name: "silence", joiningP50Ms: attackedMs, ...more }),
  });
  const rowOf = (pairs: ReturnType<typeof pair>[]): string | undefined => {
    const { phases: _, ...facts } = results([]);
    return formatRounds({ ...facts, pairs })
      .split("\n")
      .find((line) => line.startsWith("| silence"));
  };
  const five = (attackedMs: readonly number[]) =>
    attackedMs.map((ms, index) => pair(index + 1, 100 + 100 * (index % 2), ms));

  test.each([
    ["each round by the sink beside it", five([105, 210, 105, 210, 105]), "+5 % (+5 % to +5 %) | met |"],
    ["by the median of them", five([105, 210, 105, 210, 150]), "+5 % (+5 % to +50 %) | met |"],
    ["and missed by it", five([111, 222, 111, 210, 90]), "+11 % (−10 % to +11 %) | missed: joining |"],
    ["and no verdict by four", five([105, 210, 105, 210]), "+5 % (+5 % to +5 %) | missed: 4 of 5 rounds |"],
    [
      "and no node may be missing in any",
      [...five([105, 210, 105, 210]), pair(5, 100, 105, { missing: 1 })],
      "+5 % (+5 % to +5 %) | missed: nodes missing |",
    ],
  ])("measures %s", (_, pairs, ending) => {
    expect(rowOf(pairs)).toMatch(new RegExp(`${ending.replaceAll(/[+()|]/g, String.raw`\$&`)}$`));
  });
});

test.each<[string[], string[] | undefined]>([
  [
    ["--rows", "hostile", "--seconds", "5"],
    ["--seconds", "5"],
  ],
  [["--seconds=5", "--rows=hostile"], ["--seconds=5"]],
  [["--rows", "100-at-once"], undefined],
  [[], undefined],
])("%j selects the hostile rows with %j", (given, expected) => {
  expect(selectHostileArguments(given)).toEqual(expected);
});

function phase(difference: Partial<Record<keyof HostilePhase, unknown>> = {}): HostilePhase {
  return HostilePhase.parse({
    name: "endless-added",
    seconds: 60,
    nodes: 360,
    missing: 0,
    joiningP50Ms: 100,
    joiningP99Ms: 200,
    healthzP50Ms: 1,
    healthzP99Ms: 5,
    healthzFailures: 0,
    peakMiB: 200,
    residentMiB: 190,
    cpuSeconds: 3,
    logBytes: 1_000,
    invocations: 300,
    hostileInvocations: 5,
    sentBytes: 9_000_000,
    onPages: ["objects"],
    inMetrics: ["objects"],
    healedSeconds: 2,
    ended: false,
    ...difference,
  });
}

function results(phases: readonly HostilePhase[]): HostileResults {
  return {
    startedAt: "2026-01-01T00:00:00Z",
    cpu: "cpu",
    cores: 2,
    node: "v24.0.0",
    version: "abc",
    clusters: 100,
    nodesEach: 10,
    rate: 6,
    seconds: 60,
    bytesPerSecond: 50_000_000,
    phases: [...phases],
  };
}
