import { BAR, getJoiningRise, isNamed, listMisses, logBytesPerMinute } from "#bench/hostile/bar.ts";
import type { HostilePhase, HostileResults } from "#bench/hostile/measurement.ts";
import { formatMarkdownTable } from "#bench/report/markdown-table.ts";
import { formatCount, formatMs, formatNumber } from "#bench/report/numbers.ts";
import { wrapParagraph } from "#bench/report/wrap-paragraph.ts";

/** Renders the run as a section of Markdown, without a heading; ends with a line break. */
export function formatHostileRun(results: HostileResults): string {
  const [quiet, ...others] = results.phases;
  if (quiet === undefined) return "Nothing has been measured yet.\n";
  const rows = others.map((phase) => formatRow(phase, quiet));
  return `${formatParagraph(results, quiet)}\n\n${formatMarkdownTable(HEADING, rows)}\n\n${BAR_SENTENCE}\n`;
}

const HEADING = [
  "",
  "p50 quiet → attacked",
  "p99",
  "healthz p50, p99",
  "memory",
  "log a minute",
  "invocations (its own)",
  "sent",
  "named",
  "healed after",
  "verdict",
];

const BAR_SENTENCE = wrapParagraph(
  [
    `The bar: the p50 from joining to schedulable of the other clusters' nodes rises by less than ${BAR.joiningRise * 100} %,`,
    `the p99 of \`/healthz\` is below ${BAR.healthzP99Ms} ms, the relay takes at most ${BAR.peakMiB} MiB and ${BAR.peakMiBMore} MiB more than the quiet one,`,
    `it logs at most ${formatCount(BAR.logBytesPerMinute / 1e6)} MB a minute, \`/readyz/clusters\` and the metrics name the hostile cluster if`,
    "it shows any effect, and it heals by itself.",
  ].join(" "),
);

function formatRow(phase: HostilePhase, quiet: HostilePhase): string[] {
  const rise = getJoiningRise(phase, quiet);
  const misses = listMisses(phase, quiet);
  return [
    phase.name,
    `${formatMs(quiet.joiningP50Ms)} → ${formatMs(phase.joiningP50Ms)}${rise === undefined ? "" : ` (${formatSigned(rise)})`}`,
    `${formatMs(phase.joiningP99Ms)}${phase.missing === 0 ? "" : `, ${formatCount(phase.missing)} missing`}`,
    `${formatMs(phase.healthzP50Ms)}, ${formatMs(phase.healthzP99Ms)}${phase.healthzFailures === 0 ? "" : `, ${formatCount(phase.healthzFailures)} unanswered`}`,
    `${formatNumber(phase.peakMiB)} MiB (${formatMore(phase.peakMiB - quiet.peakMiB)})`,
    `${formatNumber(logBytesPerMinute(phase) / 1e6)} MB`,
    `${formatCount(phase.invocations)} (${formatCount(phase.hostileInvocations)})`,
    `${formatNumber(phase.sentBytes / 1e6)} MB`,
    formatNamed(phase),
    phase.healedSeconds === undefined ? "–" : `${formatNumber(phase.healedSeconds)} s`,
    misses.length === 0 ? "met" : `missed: ${misses.join(", ")}`,
  ];
}

function formatNamed(phase: HostilePhase): string {
  const { onPages, inMetrics } = phase;
  if (isNamed(phase)) return [...new Set([...onPages, ...inMetrics])].join(", ");
  if (onPages.length > 0) return `${onPages.join(", ")}, not in metrics`;
  return inMetrics.length > 0 ? `${inMetrics.join(", ")}, not on pages` : "–";
}

function formatSigned(rise: number): string {
  const percent = Math.round(rise * 100);
  return `${percent < 0 ? "−" : "+"}${Math.abs(percent)} %`;
}

function formatMore(mebibytes: number): string {
  const rounded = Math.round(mebibytes);
  return `${rounded < 0 ? "−" : "+"}${Math.abs(rounded)}`;
}

function formatParagraph(results: HostileResults, quiet: HostilePhase): string {
  const { clusters, nodesEach, rate, seconds, startedAt, node, cores, cpu, version } = results;
  const sentences = [
    `${startedAt.slice(0, 10)}, ${version}, Node ${node} on ${cores} cores of ${cpu}: one relay of ${formatCount(clusters)} clusters,`,
    `one of them hostile, one on a kube-apiserver, the others embedded, with ${formatCount(nodesEach)} nodes each; ${formatNumber(rate)} nodes a second join the others all the time.`,
    `Each row is ${formatNumber(seconds)} s; the hostile server sends at most ${formatNumber(results.bytesPerSecond / 1e6)} MB a second, at the lowest priority.`,
    `Quiet: joining p50 ${formatMs(quiet.joiningP50Ms)}, p99 ${formatMs(quiet.joiningP99Ms)} of ${formatCount(quiet.nodes)} nodes; healthz p50 ${formatMs(quiet.healthzP50Ms)}, p99 ${formatMs(quiet.healthzP99Ms)};`,
    `${formatNumber(quiet.peakMiB)} MiB; ${formatNumber(logBytesPerMinute(quiet) / 1e6)} MB of log a minute; ${formatCount(quiet.invocations)} invocations.`,
    "In “noise” the server uses as much of the machine against no relay: a rise there is not due to the relay.",
  ];
  return wrapParagraph(sentences.join(" "));
}
