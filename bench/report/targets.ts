import type { ContenderName, Results } from "#bench/measurement.ts";
import { formatNumber } from "#bench/report/numbers.ts";
import type { Spread } from "#bench/report/spread.ts";
import { type Metric, type Summary, summarize } from "#bench/report/summary.ts";

/** A contender of this project: the targets are set for it. */
export type Candidate = Extract<ContenderName, "run" | "lambda">;

/** What is wanted of a number. */
export type Wanted =
  | { readonly kind: "at-most"; readonly limit: number }
  | { readonly kind: "at-least"; readonly limit: number }
  /** Equal when rounded to a tenth. */
  | { readonly kind: "exactly"; readonly limit: number };

/**
 * One target. A time, rate or load is judged by its median over the repetitions, a fault or a bound by the worst of them.
 * With `over`, what is judged is the quotient of two medians of the same run: the candidate's ÷ that of what it is
 * compared with, which is another contender in the same row or the candidate itself in another row.
 */
export interface Target {
  readonly row: string;
  readonly metric: Metric;
  readonly taken: "median" | "worst";
  readonly over?: Comparison;
  readonly wanted: Wanted;
}

export type Comparison =
  | { readonly kind: "contender"; readonly contender: ContenderName }
  /** The floor with Events where the candidate writes them (for at least half of the nodes), the floor otherwise. */
  | { readonly kind: "floor-that-writes-the-same" }
  | { readonly kind: "row"; readonly row: string };

/** What became of a target. */
export interface Verdict {
  readonly target: Target;
  readonly candidate: Candidate;
  readonly outcome: "met" | "not met" | "not measured";
  /** The number or the quotient that was judged; undefined where it could not be had. */
  readonly measured: number | undefined;
  /** With what the quotient was formed in the end. */
  readonly comparedWith: { readonly contender: ContenderName; readonly row: string } | undefined;
  /** Why it was not measured, or what the numbers do not say by themselves. */
  readonly remark: string | undefined;
}

const STOCK_DEFAULTS = { kind: "contender", contender: "stock-defaults" } as const;
const STOCK_TUNED = { kind: "contender", contender: "stock-tuned" } as const;
const FLOOR = { kind: "floor-that-writes-the-same" } as const;

/** What the project sets itself: the same for each candidate. */
export const TARGETS: readonly Target[] = [
  median("1000-at-once", "totalMs", atMost(1.15), FLOOR),
  median("1000-at-once", "nodesPerSecond", atLeast(30), STOCK_DEFAULTS),
  median("1000-at-once", "nodesPerSecond", atLeast(1.6), STOCK_TUNED),
  median("1000-at-once", "p50Ms", atMost(0.5), STOCK_TUNED),
  worst("1000-at-once", "nodeWritesPerNode", { kind: "exactly", limit: 2 }),
  worst("1000-at-once", "tooManyRequests", atMost(0)),
  worst("1000-at-once", "cloudCalls", atMost(50)),
  worst("1000-at-once", "nakedNodes", atMost(0)),
  worst("1000-there", "cloudCalls", atMost(15)),
  median("500-at-once-without-ids", "nodesPerSecond", atLeast(8), STOCK_TUNED),
  worst("500-at-once-without-ids", "cloudThrottled", atMost(0)),
  median("2000-at-33-per-second", "p50Ms", atMost(150)),
  median("2000-at-33-per-second", "p50Ms", atMost(0.25), STOCK_TUNED),
  median("2000-at-33-per-second", "p99Ms", atMost(400)),
  median("2000-at-33-per-second", "contenderCpuSeconds", atMost(2), STOCK_TUNED),
  median("5000-at-once", "totalMs", atMost(1.15), FLOOR),
  median("5000-at-once", "totalMs", atMost(0.55), STOCK_TUNED),
  median("5000-at-once", "msPerNode", atMost(1.1), { kind: "row", row: "1000-at-once" }),
  worst("5000-at-once", "peakMemoryMiB", atMost(200)),
];

/**
 * The verdict on each target, in their order. A target whose row or whose comparison was not measured is "not measured";
 * one for which the candidate left a node behind is "not met", whatever the times of the others: those that come up late
 * or never must not make a median better. What others left behind makes them look faster than they were, which is remarked.
 */
export function judge(
  results: Results,
  candidate: Candidate,
  targets: readonly Target[] = TARGETS,
): Verdict[] {
  const summaries = summarize(results);
  return targets.map((target) => verdictOn(target, candidate, summaries));
}

/** Whether a number is what is wanted. */
export function meets(measured: number, { kind, limit }: Wanted): boolean {
  switch (kind) {
    case "at-most":
      return measured <= limit;
    case "at-least":
      return measured >= limit;
    case "exactly":
      return Math.round(measured * 10) === Math.round(limit * 10);
  }
}

function verdictOn(target: Target, candidate: Candidate, summaries: readonly Summary[]): Verdict {
  const own = find(summaries, candidate, target.row);
  const comparedWith = own === undefined ? undefined : resolve(target, own);
  const other = comparedWith && find(summaries, comparedWith.contender, comparedWith.row);
  const verdict = { target, candidate, comparedWith };
  const open = (remark: string): Verdict => ({
    ...verdict,
    outcome: "not measured",
    measured: undefined,
    remark,
  });
  if (own === undefined) return open(`no measurement of ${candidate} in ${target.row}`);
  if (comparedWith !== undefined && other === undefined)
    return open(`no measurement of ${comparedWith.contender} in ${comparedWith.row}`);

  const measured = judgedNumber(target, own, other);
  const missing = missingNodes(own) + (target.over?.kind === "row" ? missingNodes(other) : 0);
  if (missing > 0) {
    return { ...verdict, outcome: "not met", measured, remark: `${nodes(missing)} never came up` };
  }
  if (measured === undefined) return open("there is nothing to divide by");
  const left = missingNodes(other);
  const met = meets(measured, target.wanted);
  const leftBehind = left > 0 ? `of ${comparedWith?.contender}'s, ${nodes(left)} never came up` : undefined;
  return {
    ...verdict,
    outcome: met ? "met" : "not met",
    measured,
    remark: leftBehind ?? (met ? undefined : remarkOnFloor(target, own, other, summaries)),
  };
}

/** What of a quotient with a stock controller the API server itself leaves open: where the floor fails too, nobody can meet it here. */
function remarkOnFloor(
  target: Target,
  own: Summary,
  other: Summary | undefined,
  summaries: readonly Summary[],
): string | undefined {
  if (target.over?.kind !== "contender") return undefined;
  const floor = find(summaries, floorBeside(own), target.row);
  const reached = floor && judgedNumber(target, floor, other);
  if (reached === undefined) return undefined;
  return `${meets(reached, target.wanted) ? "the floor" : "nor does the floor"}: ${formatNumber(reached)} ×`;
}

function resolve({ over, row }: Target, own: Summary): Verdict["comparedWith"] {
  switch (over?.kind) {
    case undefined:
      return undefined;
    case "contender":
      return { contender: over.contender, row };
    case "row":
      return { contender: own.contender, row: over.row };
    case "floor-that-writes-the-same":
      return { contender: floorBeside(own), row };
  }
}

/** The floor that writes what this contender wrote. */
function floorBeside({ row, spreads }: Summary): ContenderName {
  return (spreads.eventWrites?.median ?? 0) >= row.nodes / 2 ? "floor-with-events" : "floor";
}

function judgedNumber(target: Target, own: Summary, other: Summary | undefined): number | undefined {
  const spread = own.spreads[target.metric];
  if (target.over === undefined) return spread && taken(target, spread);
  const divisor = other?.spreads[target.metric]?.median;
  return spread === undefined || divisor === undefined || divisor === 0 ? undefined : spread.median / divisor;
}

function taken({ taken, wanted }: Target, { median, min, max }: Spread): number {
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

function missingNodes(summary: Summary | undefined): number {
  return summary?.spreads.missingNodes?.max ?? 0;
}

function find(summaries: readonly Summary[], contender: ContenderName, row: string): Summary | undefined {
  return summaries.find((summary) => summary.contender === contender && summary.row.id === row);
}

function nodes(count: number): string {
  return count === 1 ? "1 node" : `${count} nodes`;
}

function median(row: string, metric: Metric, wanted: Wanted, over?: Comparison): Target {
  return { row, metric, taken: "median", wanted, ...(over && { over }) };
}

function worst(row: string, metric: Metric, wanted: Wanted): Target {
  return { row, metric, taken: "worst", wanted };
}

function atMost(limit: number): Wanted {
  return { kind: "at-most", limit };
}

function atLeast(limit: number): Wanted {
  return { kind: "at-least", limit };
}
