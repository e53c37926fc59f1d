import {
  type ColdStart,
  type ColdStartResults,
  EMPTY_HANDLER,
  ONE_CLIENT,
  ONE_CLIENT_BY_DEFAULT,
  ONE_CLIENT_OF_MODULES,
} from "#bench/cold-start/measurement.ts";
import { formatMarkdownTable } from "#bench/report/markdown-table.ts";
import { formatNumber, formatSpread } from "#bench/report/numbers.ts";
import { computeSpread } from "#bench/report/spread.ts";
import { wrapParagraph } from "#bench/report/wrap-paragraph.ts";

/** Renders the results as a section of Markdown, without a heading; ends with a line break. */
export function formatColdStarts(results: ColdStartResults): string {
  const startOf = (name: string) => results.starts.find((start) => start.name === name);
  const comparedWith = [EMPTY_HANDLER, ONE_CLIENT, ONE_CLIENT_OF_MODULES, ONE_CLIENT_BY_DEFAULT].map(startOf);
  const rows = results.starts.map((start) => [
    start.name,
    formatKilobytes(start.minifiedBytes),
    formatKilobytes(start.zipBytes),
    formatMs(start.wallMs),
    formatMs(start.cpuMs),
    ...comparedWith.map((other) => (other === undefined ? "" : formatRatio(start, other))),
  ]);
  const heading = [
    "",
    "minified KB",
    "zip KB",
    "ms since the process started",
    "ms of CPU",
    "× empty",
    "× client-ec2",
    "× its ES modules",
    "× by default",
  ];
  return `${formatMarkdownTable(heading, rows)}\n\n${formatParagraph(results)}\n`;
}

/**
 * Returns the median of the two CPU times' ratio within a round. CPU time varies least with other processes.
 */
export function getMedianRatio(start: ColdStart, other: ColdStart): number | undefined {
  const ratios = start.cpuMs.flatMap((ms, round) => {
    const otherMs = other.cpuMs[round];
    return otherMs === undefined ? [] : [ms / otherMs];
  });
  return computeSpread(ratios)?.median;
}

function formatRatio(start: ColdStart, other: ColdStart): string {
  const ratio = getMedianRatio(start, other);
  return ratio === undefined ? "" : formatNumber(ratio);
}

function formatMs(values: readonly number[]): string {
  const spread = computeSpread(values);
  return spread === undefined ? "" : formatSpread(spread);
}

function formatKilobytes(bytes: number | undefined): string {
  return bytes === undefined ? "" : formatNumber(bytes / 1000);
}

function formatParagraph({ startedAt, node, cpu, cores, loadAverage, starts }: ColdStartResults): string {
  const rounds = starts[0]?.wallMs.length ?? 0;
  const sentences = [
    `${startedAt.slice(0, 10)}, Node ${node} on ${cores} cores of ${cpu}, load average ${formatNumber(loadAverage)} before.`,
    `Medians and ranges of ${rounds} rounds; each round starts every row once, in a new process without a compile cache.`,
    "Ratios are medians over the rounds, of the CPU time since the process started.",
    "The first node is decided, written to an embedded API server and reported. Its EC2 endpoint is embedded, too; neither adds latency.",
  ];
  return wrapParagraph(sentences.join(" "));
}
