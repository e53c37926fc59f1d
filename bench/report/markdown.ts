import { CONTENDERS, type Machine, type Results, type Row } from "#bench/measurement.ts";
import { escapeMarkdown, formatMarkdownTable } from "#bench/report/markdown-table.ts";
import { formatCount, formatNumber } from "#bench/report/numbers.ts";
import { PICTURE_FOLDER, type Picture } from "#bench/report/pictures.ts";
import { formatRowTable } from "#bench/report/row-table.ts";
import { type Summary, summarize } from "#bench/report/summary.ts";
import { type Candidate, judgeTargets } from "#bench/report/targets.ts";
import { formatTargets } from "#bench/report/targets-table.ts";
import { CONTENDER_TITLES, formatRowTitle } from "#bench/report/titles.ts";
import { wrapParagraph } from "#bench/report/wrap-paragraph.ts";

/**
 * Renders the report as a page: machine, targets, a table and a picture for each row, and what could not be
 * measured. `notes` are the operator's sentences, such as why a contender is absent.
 */
export function renderMarkdown(
  results: Results,
  notes: readonly string[],
  pictures: readonly Picture[],
): string {
  const summaries = summarize(results);
  const sections = [
    "# Benchmark results",
    INTRODUCTION,
    formatMachine(results),
    "## Targets",
    wrapParagraph(HOW_TARGETS_ARE_JUDGED),
    ...formatCandidate(results, "run", "Relay and functions in one process, `serverless-ccm run`."),
    ...formatCandidate(results, "lambda", LAMBDA_REMARK),
    ...results.rows.flatMap((row) => formatRowSection(row, summaries, pictures)),
    ...pictures
      .filter(({ row }) => row === undefined)
      .flatMap((one) => [`## ${one.title}`, formatPicture(one)]),
    "## What was not measured",
    formatGaps(results.rows, summaries),
    ...(notes.length === 0 ? [] : ["Notes of the run:", list(notes.map(escapeMarkdown))]),
    "## How to read this",
    HOW_TO_READ,
  ];
  return `${sections.join("\n\n")}\n`;
}

const INTRODUCTION = wrapParagraph(
  "For readers who compare serverless-ccm with the stock controller. This page has every row of the last run. The bench writes it: change the bench, not this page.",
);

const LAMBDA_REMARK =
  "Relay and functions on one machine, with an emulated platform. They share its processors with the API server, and a real platform's latencies are not in these numbers.";

const HOW_TARGETS_ARE_JUDGED =
  "A value with `×` is a quotient of two medians of this run. Others are a median, or the worst repetition if the row says so. A target is not met if the contender missed a node in any repetition.";

const HOW_TO_READ = list([
  "Cells are the median of the repetitions (of two in the middle, their mean). The least and the most follow if they differ.",
  "*total*: from the first registration, or from the contender's start if the nodes exist before, to the last node schedulable. *nodes/s*: schedulable nodes ÷ total.",
  "*p50*, *p99*: the time from registration to schedulable that 50 % and 99 % of a repetition's schedulable nodes did not exceed (nearest rank). For nodes that exist before, it includes their wait for the contender's start.",
  "*naked nodes*: seen without the taint and without an address. *missing nodes*: not schedulable at the time limit of the repetition; times and throughput leave them out.",
  "*node writes per node*: requests that write nodes, rejected ones included, ÷ schedulable nodes. *429s*: requests of any kind with this answer. Both are from the API server's audit log.",
  "*CPU*: seconds of user and system time, from the first registration (or the start) to the last node schedulable. *memory*: the largest resident set of the contender's permanent process; with Lambda that is the relay.",
]);

function formatMachine({ machine, measurements }: Results): string {
  const versions = Object.entries(machine.versions).map(([program, version]) => `${program} ${version}`);
  return formatMarkdownTable(
    ["", "in one run on one machine"],
    [
      ["date", `${machine.startedAt.slice(0, 16).replace("T", " ")} UTC`],
      ["processor", `${machine.cpu}, ${machine.cores} cores`],
      ["memory", `${formatNumber(machine.memoryGiB)} GiB`],
      ["kernel", machine.kernel],
      ["versions", versions.join(", ")],
      ["EC2 endpoint", `${formatNumber(machine.cloudLatencyMs)} ms for each call`],
      ["load average before a repetition", formatLoad(machine, measurements)],
    ],
  );
}

function formatLoad({ cores }: Machine, measurements: Results["measurements"]): string {
  const loads = measurements.map(({ loadAverage }) => loadAverage).sort((a, b) => a - b);
  const [least, most] = [loads[0], loads.at(-1)];
  if (least === undefined || most === undefined) return "–";
  return `${formatNumber(least, 2)} to ${formatNumber(most, 2)} on ${cores} cores`;
}

function formatCandidate(results: Results, candidate: Candidate, remark: string): string[] {
  const verdicts = judgeTargets(results, candidate);
  const count = (outcome: string): string =>
    formatCount(verdicts.filter((verdict) => verdict.outcome === outcome).length);
  return [
    `### ${CONTENDER_TITLES[candidate]}`,
    wrapParagraph(
      `${remark} ${count("met")} met, ${count("not met")} not met, ${count("not measured")} not measured.`,
    ),
    formatTargets(verdicts, results.rows),
  ];
}

function formatRowSection(row: Row, summaries: readonly Summary[], pictures: readonly Picture[]): string[] {
  const own = summaries.filter((summary) => summary.row.id === row.id);
  return [
    `## ${formatRowTitle(row)}`,
    own.length === 0 ? "Not measured." : formatRowTable(own),
    ...pictures.filter((picture) => picture.row === row.id).map(formatPicture),
  ];
}

function formatPicture({ title, file }: Picture): string {
  return `![${escapeMarkdown(title)}](${PICTURE_FOLDER}/${file})`;
}

function formatGaps(rows: readonly Row[], summaries: readonly Summary[]): string {
  const lines = rows.flatMap((row) => {
    const measured = new Set(
      summaries.filter((one) => one.row.id === row.id).map(({ contender }) => contender),
    );
    const absent = CONTENDERS.filter((contender) => !measured.has(contender));
    if (absent.length === 0) return [];
    return [`${formatRowTitle(row)}: ${absent.map((contender) => CONTENDER_TITLES[contender]).join("; ")}`];
  });
  return lines.length === 0 ? "Every contender was measured in every row." : list(lines);
}

function list(lines: readonly string[]): string {
  return lines.map((text) => wrapParagraph(`- ${text}`, "  ")).join("\n");
}
