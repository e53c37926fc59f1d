import type { Row } from "#bench/measurement.ts";
import { formatMarkdownTable } from "#bench/report/markdown-table.ts";
import { formatCount, formatMs, formatNumber } from "#bench/report/numbers.ts";
import type { Metric } from "#bench/report/summary.ts";
import { isMet, type Target, type TargetResult } from "#bench/report/targets.ts";
import { CONTENDER_TITLES, formatRowTitle } from "#bench/report/titles.ts";

/** Formats one candidate's verdicts as a table: what, measured, wanted, met or not. */
export function formatTargets(verdicts: readonly TargetResult[], rows: readonly Row[]): string {
  return formatMarkdownTable(
    ["nodes", "what", "measured", "wanted", ""],
    verdicts.map((verdict) => [
      findTitle(verdict.target.row, rows),
      formatTarget(verdict, rows),
      verdict.measured === undefined ? "–" : formatMeasured(verdict.target, verdict.measured),
      formatGoal(verdict.target),
      verdict.remark === undefined ? verdict.outcome : `${verdict.outcome}: ${verdict.remark}`,
    ]),
  );
}

const METRIC_TITLES: Readonly<Record<Metric, string>> = {
  totalMs: "total time",
  nodesPerSecond: "throughput",
  msPerNode: "time per node",
  p50Ms: "p50",
  p99Ms: "p99",
  nakedNodes: "naked nodes",
  missingNodes: "missing nodes",
  nodeWritesPerNode: "node writes per node",
  eventWrites: "event writes",
  tooManyRequests: "429s",
  cloudCalls: "EC2 calls",
  cloudThrottled: "throttled EC2 calls",
  contenderCpuSeconds: "CPU",
  kubeApiserverCpuSeconds: "kube-apiserver's CPU",
  etcdCpuSeconds: "etcd's CPU",
  peakMemoryMiB: "peak memory of the process that is always there",
};

function findTitle(id: string, rows: readonly Row[]): string {
  const row = rows.find((one) => one.id === id);
  return row === undefined ? id : formatRowTitle(row);
}

function formatTarget({ target, comparedWith }: TargetResult, rows: readonly Row[]): string {
  const metric = METRIC_TITLES[target.metric];
  switch (target.over?.kind) {
    case undefined:
      return target.taken === "worst" ? `${metric}, at worst` : metric;
    case "row":
      return `${metric} ÷ that of ${findTitle(target.over.row, rows)}`;
    case "contender":
      return `${metric} ÷ that of ${CONTENDER_TITLES[target.over.contender]}`;
    case "floor-that-writes-the-same":
      return `${metric} ÷ that of the ${CONTENDER_TITLES[comparedWith?.contender ?? "floor"]}`;
  }
}

function formatGoal(target: Target): string {
  const { kind, limit } = target.wanted;
  const number = addUnit(target, limit, 3);
  switch (kind) {
    case "at-most":
      return limit === 0 ? "none" : `≤ ${number}`;
    case "at-least":
      return `≥ ${number}`;
    case "exactly":
      return `${limit.toFixed(1)}, to a tenth`;
  }
}

/** Uses as many digits as show on which side of the limit the number is. */
function formatMeasured(target: Target, measured: number): string {
  const verdict = isMet(measured, target.wanted);
  const told = (digits: number): boolean =>
    isMet(Number(measured.toPrecision(digits)), target.wanted) === verdict;
  return addUnit(target, measured, [3, 4, 5, 6].find(told) ?? 9);
}

function addUnit({ metric, over }: Target, value: number, digits: number): string {
  if (over !== undefined) return `${formatNumber(value, digits)} ×`;
  switch (metric) {
    case "totalMs":
    case "msPerNode":
    case "p50Ms":
    case "p99Ms":
      return formatMs(value, digits);
    case "contenderCpuSeconds":
    case "kubeApiserverCpuSeconds":
    case "etcdCpuSeconds":
      return formatMs(value * 1_000, digits);
    case "nodesPerSecond":
      return `${formatNumber(value, digits)} nodes/s`;
    case "peakMemoryMiB":
      return `${formatNumber(value, digits)} MiB`;
    case "nodeWritesPerNode":
      return formatNumber(value, digits);
    case "nakedNodes":
    case "missingNodes":
    case "eventWrites":
    case "tooManyRequests":
    case "cloudCalls":
    case "cloudThrottled":
      return formatCount(value);
  }
}
