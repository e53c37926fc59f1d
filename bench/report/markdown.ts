import { CONTENDERS, type Machine, type Results, type Row } from "#bench/measurement.ts";
import { escapeMarkdown, markdownTable } from "#bench/report/markdown-table.ts";
import { formatCount, formatNumber } from "#bench/report/numbers.ts";
import { PICTURE_FOLDER, type Picture } from "#bench/report/pictures.ts";
import { rowTable } from "#bench/report/row-table.ts";
import { type Summary, summarize } from "#bench/report/summary.ts";
import { type Candidate, judge } from "#bench/report/targets.ts";
import { targetsTable } from "#bench/report/targets-table.ts";
import { CONTENDER_TITLES, rowTitle } from "#bench/report/titles.ts";

/**
 * The report as a page: what was measured on what, the targets, a table and a picture for each row, and what could not be
 * measured; `notes` are sentences of the one who ran it, such as why a contender is absent.
 */
export function renderMarkdown(
  results: Results,
  notes: readonly string[],
  pictures: readonly Picture[],
): string {
  const summaries = summarize(results);
  const sections = [
    "# Benchmark results",
    "Written by the benchmark: change what it does, not this page.",
    machineTable(results),
    "## Targets",
    HOW_TARGETS_ARE_JUDGED,
    ...candidateSection(results, "run", "Relay and functions in one process, `serverless-ccm run`."),
    ...candidateSection(results, "lambda", LAMBDA_REMARK),
    ...results.rows.flatMap((row) => rowSection(row, summaries, pictures)),
    ...pictures.filter(({ row }) => row === undefined).flatMap((one) => [`## ${one.title}`, embed(one)]),
    "## What was not measured",
    gaps(results.rows, summaries),
    ...(notes.length === 0 ? [] : ["Notes of the run:", list(notes.map(escapeMarkdown))]),
    "## How to read this",
    HOW_TO_READ,
  ];
  return `${sections.join("\n\n")}\n`;
}

const LAMBDA_REMARK =
  "Relay and functions on one machine, with an emulated platform: they share its processors with the API server, and a real platform's latencies are not in these numbers.";

const HOW_TARGETS_ARE_JUDGED =
  "With `×`, a quotient of two medians of this run; otherwise a median, or the worst repetition where it says so. A target is not met where the contender left a node behind in any repetition.";

const HOW_TO_READ = list([
  "Cells are the median of the repetitions (of two in the middle, their mean), with the least and the most of them behind where they differ.",
  "*total*: from the first registration to the last node schedulable; from the contender's start where the nodes are there before. *nodes/s*: nodes that came up ÷ total.",
  "*p50*, *p99*: of one repetition's nodes that came up, the time from registration to schedulable that 50 % and 99 % of them did not exceed (nearest rank); of nodes that are there before, their wait for the contender to be started is in it.",
  "*naked nodes*: seen without the taint and without an address. *missing nodes*: not schedulable when the time limit ended the repetition; neither times nor throughput know of them.",
  "*node writes per node*: requests that write nodes, the refused ones included, ÷ nodes that came up. *429s*: requests of any kind so answered. Both are from the API server's audit log.",
  "*CPU*: seconds of user and system time, from the first registration (or the start) to the last node schedulable. *memory*: the largest resident set of the contender's process that is always there; with Lambda that is the relay.",
]);

function machineTable({ machine, measurements }: Results): string {
  const versions = Object.entries(machine.versions).map(([program, version]) => `${program} ${version}`);
  return markdownTable(
    ["", "in one run on one machine"],
    [
      ["date", `${machine.startedAt.slice(0, 16).replace("T", " ")} UTC`],
      ["processor", `${machine.cpu}, ${machine.cores} cores`],
      ["memory", `${formatNumber(machine.memoryGiB)} GiB`],
      ["kernel", machine.kernel],
      ["versions", versions.join(", ")],
      ["EC2 endpoint", `${formatNumber(machine.cloudLatencyMs)} ms for each call`],
      ["load average before a repetition", loadOf(machine, measurements)],
    ],
  );
}

function loadOf({ cores }: Machine, measurements: Results["measurements"]): string {
  const loads = measurements.map(({ loadAverage }) => loadAverage).sort((a, b) => a - b);
  const [least, most] = [loads[0], loads.at(-1)];
  if (least === undefined || most === undefined) return "–";
  return `${formatNumber(least, 2)} to ${formatNumber(most, 2)} on ${cores} cores`;
}

function candidateSection(results: Results, candidate: Candidate, remark: string): string[] {
  const verdicts = judge(results, candidate);
  const count = (outcome: string): string =>
    formatCount(verdicts.filter((verdict) => verdict.outcome === outcome).length);
  return [
    `### ${CONTENDER_TITLES[candidate]}`,
    `${remark} ${count("met")} met, ${count("not met")} not met, ${count("not measured")} not measured.`,
    targetsTable(verdicts, results.rows),
  ];
}

function rowSection(row: Row, summaries: readonly Summary[], pictures: readonly Picture[]): string[] {
  const own = summaries.filter((summary) => summary.row.id === row.id);
  return [
    `## ${rowTitle(row)}`,
    own.length === 0 ? "Not measured." : rowTable(own),
    ...pictures.filter((picture) => picture.row === row.id).map(embed),
  ];
}

function embed({ title, file }: Picture): string {
  return `![${escapeMarkdown(title)}](${PICTURE_FOLDER}/${file})`;
}

function gaps(rows: readonly Row[], summaries: readonly Summary[]): string {
  const lines = rows.flatMap((row) => {
    const measured = new Set(
      summaries.filter((one) => one.row.id === row.id).map(({ contender }) => contender),
    );
    const absent = CONTENDERS.filter((contender) => !measured.has(contender));
    if (absent.length === 0) return [];
    return [`${rowTitle(row)}: ${absent.map((contender) => CONTENDER_TITLES[contender]).join("; ")}`];
  });
  return lines.length === 0 ? "Every contender was measured in every row." : list(lines);
}

function list(lines: readonly string[]): string {
  return lines.map((text) => `- ${text}`).join("\n");
}
