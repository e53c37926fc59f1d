import type { ContenderName, Results } from "#bench/measurement.ts";
import { formatNumber } from "#bench/report/numbers.ts";
import type { Spread } from "#bench/report/spread.ts";
import { type Metric, type Summary, summarize } from "#bench/report/summary.ts";

/** A contender of this project, for which the targets are set. */
export type Candidate = Extract<ContenderName, "run" | "lambda">;

/** The goal of a number. */
export type Goal =
  | { readonly kind: "at-most"; readonly limit: number }
  | { readonly kind: "at-least"; readonly limit: number }
  /** Equal when rounded to a tenth. */
  | { readonly kind: "exactly"; readonly limit: number };

/**
 * One target. The median over the repetitions decides for a time, rate or load, and the worst repetition for
 * a fault or a bound. With `over`, the quotient of two medians of the same run decides: the candidate's ÷ the
 * comparison's. The comparison is another contender in the same row or the candidate itself in another row.
 */
export interface Target {
  readonly row: string;
  readonly metric: Metric;
  readonly taken: "median" | "worst";
  readonly over?: Comparison;
  readonly wanted: Goal;
}

export type Comparison =
  | { readonly kind: "contender"; readonly contender: ContenderName }
  /**
   * The floor with Events if the candidate writes them (for at least half of the nodes), otherwise the floor.
   */
  | { readonly kind: "floor-that-writes-the-same" }
  | { readonly kind: "row"; readonly row: string };

/** The result of a target. */
export interface TargetResult {
  readonly target: Target;
  readonly candidate: Candidate;
  readonly outcome: "met" | "not met" | "not measured";
  /** The judged number or quotient; undefined if it is missing. */
  readonly measured: number | undefined;
  /** The comparison that the quotient used. */
  readonly comparedWith: { readonly contender: ContenderName; readonly row: string } | undefined;
  /** Why it was not measured, or what the numbers do not show by themselves. */
  readonly remark: string | undefined;
}

const STOCK_DEFAULTS = { kind: "contender", contender: "stock-defaults" } as const;
const STOCK_TUNED = { kind: "contender", contender: "stock-tuned" } as const;
const FLOOR = { kind: "floor-that-writes-the-same" } as const;

/** The project's targets, equal for each candidate. */
export const TARGETS: readonly Target[] = [
  createMedianTarget("1000-at-once", "totalMs", createUpperLimit(1.15), FLOOR),
  createMedianTarget("1000-at-once", "nodesPerSecond", createLowerLimit(30), STOCK_DEFAULTS),
  createMedianTarget("1000-at-once", "nodesPerSecond", createLowerLimit(1.6), STOCK_TUNED),
  createMedianTarget("1000-at-once", "p50Ms", createUpperLimit(0.5), STOCK_TUNED),
  createWorstTarget("1000-at-once", "nodeWritesPerNode", { kind: "exactly", limit: 2 }),
  createWorstTarget("1000-at-once", "tooManyRequests", createUpperLimit(0)),
  createWorstTarget("1000-at-once", "cloudCalls", createUpperLimit(50)),
  createWorstTarget("1000-at-once", "nakedNodes", createUpperLimit(0)),
  createWorstTarget("1000-there", "cloudCalls", createUpperLimit(15)),
  createMedianTarget("500-at-once-without-ids", "nodesPerSecond", createLowerLimit(8), STOCK_TUNED),
  createWorstTarget("500-at-once-without-ids", "cloudThrottled", createUpperLimit(0)),
  createMedianTarget("2000-at-33-per-second", "p50Ms", createUpperLimit(150)),
  createMedianTarget("2000-at-33-per-second", "p50Ms", createUpperLimit(0.25), STOCK_TUNED),
  createMedianTarget("2000-at-33-per-second", "p99Ms", createUpperLimit(400)),
  createMedianTarget("2000-at-33-per-second", "contenderCpuSeconds", createUpperLimit(2), STOCK_TUNED),
  createMedianTarget("5000-at-once", "totalMs", createUpperLimit(1.15), FLOOR),
  createMedianTarget("5000-at-once", "totalMs", createUpperLimit(0.55), STOCK_TUNED),
  createMedianTarget("5000-at-once", "msPerNode", createUpperLimit(1.1), {
    kind: "row",
    row: "1000-at-once",
  }),
  createWorstTarget("5000-at-once", "peakMemoryMiB", createUpperLimit(200)),
];

/**
 * Returns the verdict on each target, in their order. A target without its row or comparison is "not
 * measured". If the candidate left a node behind, its targets are "not met" regardless of times: late or
 * missing nodes must not improve a median. Nodes that others left behind make them look faster than they
 * were, which a remark says.
 */
export function judgeTargets(
  results: Results,
  candidate: Candidate,
  targets: readonly Target[] = TARGETS,
): TargetResult[] {
  const summaries = summarize(results);
  return targets.map((target) => judgeTarget(target, candidate, summaries));
}

/** Returns whether a number meets its goal. */
export function isMet(measured: number, { kind, limit }: Goal): boolean {
  switch (kind) {
    case "at-most":
      return measured <= limit;
    case "at-least":
      return measured >= limit;
    case "exactly":
      return Math.round(measured * 10) === Math.round(limit * 10);
  }
}

function judgeTarget(target: Target, candidate: Candidate, summaries: readonly Summary[]): TargetResult {
  const own = find(summaries, candidate, target.row);
  const comparedWith = own === undefined ? undefined : resolve(target, own);
  const other = comparedWith && find(summaries, comparedWith.contender, comparedWith.row);
  const verdict = { target, candidate, comparedWith };
  const open = (remark: string): TargetResult => ({
    ...verdict,
    outcome: "not measured",
    measured: undefined,
    remark,
  });
  if (own === undefined) return open(`no measurement of ${candidate} in ${target.row}`);
  if (comparedWith !== undefined && other === undefined)
    return open(`no measurement of ${comparedWith.contender} in ${comparedWith.row}`);

  const measured = getJudgedNumber(target, own, other);
  const missing = countMissingNodes(own) + (target.over?.kind === "row" ? countMissingNodes(other) : 0);
  if (missing > 0) {
    return { ...verdict, outcome: "not met", measured, remark: `${formatNodes(missing)} never came up` };
  }
  if (measured === undefined) return open("there is nothing to divide by");
  const left = countMissingNodes(other);
  const met = isMet(measured, target.wanted);
  const leftBehind =
    left > 0 ? `of ${comparedWith?.contender}'s, ${formatNodes(left)} never came up` : undefined;
  return {
    ...verdict,
    outcome: met ? "met" : "not met",
    measured,
    remark: leftBehind ?? (met ? undefined : buildFloorRemark(target, own, other, summaries)),
  };
}

/**
 * Returns a remark if the floor fails the same quotient with a stock controller: then no contender can meet
 * it here.
 */
function buildFloorRemark(
  target: Target,
  own: Summary,
  other: Summary | undefined,
  summaries: readonly Summary[],
): string | undefined {
  if (target.over?.kind !== "contender") return undefined;
  const floor = find(summaries, selectFloor(own), target.row);
  const reached = floor && getJudgedNumber(target, floor, other);
  if (reached === undefined) return undefined;
  return `${isMet(reached, target.wanted) ? "the floor" : "nor does the floor"}: ${formatNumber(reached)} ×`;
}

function resolve({ over, row }: Target, own: Summary): TargetResult["comparedWith"] {
  switch (over?.kind) {
    case undefined:
      return undefined;
    case "contender":
      return { contender: over.contender, row };
    case "row":
      return { contender: own.contender, row: over.row };
    case "floor-that-writes-the-same":
      return { contender: selectFloor(own), row };
  }
}

/** Returns the floor that writes what this contender wrote. */
function selectFloor({ row, spreads }: Summary): ContenderName {
  return (spreads.eventWrites?.median ?? 0) >= row.nodes / 2 ? "floor-with-events" : "floor";
}

function getJudgedNumber(target: Target, own: Summary, other: Summary | undefined): number | undefined {
  const spread = own.spreads[target.metric];
  if (target.over === undefined) return spread && selectValue(target, spread);
  const divisor = other?.spreads[target.metric]?.median;
  return spread === undefined || divisor === undefined || divisor === 0 ? undefined : spread.median / divisor;
}

function selectValue({ taken, wanted }: Target, { median, min, max }: Spread): number {
  if (taken === "median") return median;
  switch (wanted.kind) {
    case "at-most":
      return max;
    case "at-least":
      return min;
    case "exactly":
      return Math.abs(max - wanted.limit) < Math.abs(min - wanted.limit) ? min : max;
  }
}

function countMissingNodes(summary: Summary | undefined): number {
  return summary?.spreads.missingNodes?.max ?? 0;
}

function find(summaries: readonly Summary[], contender: ContenderName, row: string): Summary | undefined {
  return summaries.find((summary) => summary.contender === contender && summary.row.id === row);
}

function formatNodes(count: number): string {
  return count === 1 ? "1 node" : `${count} nodes`;
}

function createMedianTarget(row: string, metric: Metric, wanted: Goal, over?: Comparison): Target {
  return { row, metric, taken: "median", wanted, ...(over && { over }) };
}

function createWorstTarget(row: string, metric: Metric, wanted: Goal): Target {
  return { row, metric, taken: "worst", wanted };
}

function createUpperLimit(limit: number): Goal {
  return { kind: "at-most", limit };
}

function createLowerLimit(limit: number): Goal {
  return { kind: "at-least", limit };
}
