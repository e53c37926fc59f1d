import { formatMarkdownTable } from "#bench/report/markdown-table.ts";
import { formatCount, formatMsSpread, formatSpread } from "#bench/report/numbers.ts";
import type { Spread } from "#bench/report/spread.ts";
import type { Metric, Summary } from "#bench/report/summary.ts";
import { CONTENDER_TITLES } from "#bench/report/titles.ts";

interface Column {
  readonly heading: string;
  readonly metric: Metric;
  readonly format: (spread: Spread) => string;
}

const COLUMNS: readonly Column[] = [
  { heading: "total", metric: "totalMs", format: formatMsSpread },
  { heading: "nodes/s", metric: "nodesPerSecond", format: (spread) => formatSpread(spread) },
  { heading: "p50", metric: "p50Ms", format: formatMsSpread },
  { heading: "p99", metric: "p99Ms", format: formatMsSpread },
  { heading: "naked nodes", metric: "nakedNodes", format: formatCounts },
  { heading: "missing nodes", metric: "missingNodes", format: formatCounts },
  { heading: "node writes per node", metric: "nodeWritesPerNode", format: (spread) => formatSpread(spread) },
  { heading: "EC2 calls", metric: "cloudCalls", format: formatCounts },
  { heading: "of these throttled", metric: "cloudThrottled", format: formatCounts },
  { heading: "429s", metric: "tooManyRequests", format: formatCounts },
  { heading: "CPU", metric: "contenderCpuSeconds", format: formatSeconds },
  { heading: "kube-apiserver's CPU", metric: "kubeApiserverCpuSeconds", format: formatSeconds },
  { heading: "memory, MiB", metric: "peakMemoryMiB", format: (spread) => formatSpread(spread) },
];

/** Formats the contenders of one row, a line for each: medians with the range over the repetitions. */
export function formatRowTable(summaries: readonly Summary[]): string {
  return formatMarkdownTable(
    ["", ...COLUMNS.map(({ heading }) => heading), "repetitions"],
    summaries.map(({ contender, spreads, repetitions }) => [
      CONTENDER_TITLES[contender],
      ...COLUMNS.map(({ metric, format }) => {
        const spread = spreads[metric];
        return spread === undefined ? "–" : format(spread);
      }),
      formatCount(repetitions),
    ]),
  );
}

function formatCounts(spread: Spread): string {
  return formatSpread(spread, formatCount);
}

function formatSeconds(spread: Spread): string {
  return formatMsSpread({
    median: spread.median * 1_000,
    min: spread.min * 1_000,
    max: spread.max * 1_000,
  });
}
