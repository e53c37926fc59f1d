import type { IdleMeasurement, IdleResults, IdleUsage } from "#bench/idle/measurement.ts";
import { formatMarkdownTable } from "#bench/report/markdown-table.ts";
import { formatCount, formatNumber } from "#bench/report/numbers.ts";
import { wrapParagraph } from "#bench/report/wrap-paragraph.ts";

/** Renders the measurements as a section of Markdown, without a heading; ends with a line break. */
export function formatIdle({ measurements }: IdleResults): string {
  const rows = measurements.flatMap(formatRows);
  const heading = ["", "resident", "peak", "private", "heap used", "share of a core"];
  return `${formatMarkdownTable(heading, rows)}\n\n${measurements.map(formatParagraph).join("\n\n")}\n`;
}

function formatRows(measurement: IdleMeasurement): string[][] {
  const { clusters, nodesEach, idle, heap, stock } = measurement;
  const what = `${formatCount(clusters)} ${clusters === 1 ? "cluster" : "clusters"} of ${formatCount(nodesEach)} nodes`;
  const rows = [[`one relay, ${what}`, ...formatCells(idle, 1, formatMiB(heap.usedMiB))]];
  if (stock === undefined) return rows;
  const one = `one stock controller, one cluster of ${formatCount(nodesEach)} nodes`;
  rows.push([one, ...formatCells(stock, 1, "")]);
  if (clusters > 1) rows.push([`the same × ${formatCount(clusters)}`, ...formatCells(stock, clusters, "")]);
  return rows;
}

function formatCells(usage: IdleUsage, times: number, heap: string): string[] {
  const { residentMiB, peakMiB, anonymousMiB } = usage;
  const memory = [residentMiB, peakMiB, anonymousMiB].map((each) => formatMiB(each * times));
  return [...memory, heap, `${formatNumber(getCoreShare(usage) * times * 100, 2)} %`];
}

/** Returns the part of a core that the process used; 1 is one whole core. */
export function getCoreShare({ cpuSeconds, seconds }: IdleUsage): number {
  return cpuSeconds / seconds;
}

function formatParagraph(measurement: IdleMeasurement): string {
  const { clusters, kubeApiservers, nodesEach, heartbeatSeconds, idle, initializing, startedAt } =
    measurement;
  const nodes = formatCount(clusters * nodesEach);
  const servers = [
    `${formatCount(kubeApiservers)} with a kube-apiserver`,
    ...(clusters > kubeApiservers
      ? [`${formatCount(clusters - kubeApiservers)} with an embedded API server`]
      : []),
  ].join(" and ");
  const sentences = [
    `${formatCount(clusters)} × ${formatCount(nodesEach)}, ${startedAt.slice(0, 10)}, Node ${measurement.node} on ${measurement.cores} cores of ${measurement.cpu}:`,
    `${servers}; every node reports its status once in ${formatNumber(heartbeatSeconds)} s.`,
    `Watched for ${formatNumber(idle.seconds)} s, refreshes of initialized nodes included.`,
    `A relay that found all ${nodes} nodes uninitialized had them initialized ${formatNumber(initializing.seconds)} s after its start,`,
    `with ${formatNumber(initializing.cpuSeconds)} s of CPU and at most ${formatMiB(initializing.peakMiB)} resident.`,
  ];
  return wrapParagraph(sentences.join(" "));
}

function formatMiB(value: number): string {
  return `${formatNumber(value)} MiB`;
}
