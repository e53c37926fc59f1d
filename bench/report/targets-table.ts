import type { Row } from "#bench/measurement.ts";
import { markdownTable } from "#bench/report/markdown-table.ts";
import { formatCount, formatMs, formatNumber } from "#bench/report/numbers.ts";
import type { Metric } from "#bench/report/summary.ts";
import { meets, type Target, type Verdict } from "#bench/report/targets.ts";
import { CONTENDER_TITLES, rowTitle } from "#bench/report/titles.ts";

/** One candidate's verdicts as a table: what, measured, wanted, met or not. */
export function targetsTable(verdicts: readonly Verdict[], rows: readonly Row[]): string {
  return markdownTable(
    ["nodes", "what", "measured", "wanted", ""],
    verdicts.map((verdict) => [
      titleOf(verdict.target.row, rows),
      what(verdict, rows),
      verdict.measured === undefined ? "–" : written(verdict.target, verdict.measured),
      wantedInWords(verdict.target),
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

function titleOf(id: string, rows: readonly Row[]): string {
  const row = rows.find((one) => one.id === id);
  return row === undefined ? id : rowTitle(row);
}

function what({ target, comparedWith }: Verdict, rows: readonly Row[]): string {
  const metric = METRIC_TITLES[target.metric];
  switch (target.over?.kind) {
    case undefined:
      return target.taken === "worst" ? `${metric}, at worst` : metric;
    case "row":
      return `${metric} ÷ that of ${titleOf(target.over.row, rows)}`;
    case "contender":
      return `${metric} ÷ that of ${CONTENDER_TITLES[target.over.contender]}`;
    case "floor-that-writes-the-same":
      return `${metric} ÷ that of the ${CONTENDER_TITLES[comparedWith?.contender ?? "floor"]}`;
  }
}

function wantedInWords(target: Target): string {
  const { kind, limit } = target.wanted;
  const number = withUnit(target, limit, 3);
  switch (kind) {
    case "at-most":
      return limit === 0 ? "none" : `≤ ${number}`;
    case "at-least":
      return `≥ ${number}`;
    case "exactly":
      return `${limit.toFixed(1)}, to a tenth`;
  }
}

/** With as many digits as it takes to see on which side of the limit the number is. */
function written(target: Target, measured: number): string {
  const verdict = meets(measured, target.wanted);
  const told = (digits: number): boolean =>
    meets(Number(measured.toPrecision(digits)), target.wanted) === verdict;
  return withUnit(target, measured, [3, 4, 5, 6].find(told) ?? 9);
}

function withUnit({ metric, over }: Target, value: number, digits: number): string {
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
