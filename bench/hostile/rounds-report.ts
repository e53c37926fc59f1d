import { BAR, getJoiningRise, listMisses } from "#bench/hostile/bar.ts";
import type { RoundResults } from "#bench/hostile/measurement.ts";
import { formatMarkdownTable } from "#bench/report/markdown-table.ts";
import { formatCount, formatMs, formatNumber } from "#bench/report/numbers.ts";
import { getPercentile } from "#bench/report/percentile.ts";
import { wrapParagraph } from "#bench/report/wrap-paragraph.ts";

/** The number of rounds that allow a verdict. */
const ROUNDS = 5;

/** Renders the rounds as a section of Markdown, without a heading; ends with a line break. */
export function formatRounds(results: RoundResults): string {
  if (results.pairs.length === 0) return "Nothing has been measured yet.\n";
  const byAttack = Map.groupBy(results.pairs, ({ attack }) => attack);
  const rows = [...byAttack].map(([attack, pairs]) => formatRow(attack, pairs));
  return `${formatParagraph(results)}\n\n${formatMarkdownTable(HEADING, rows)}\n\n${BAR_SENTENCE}\n`;
}

const HEADING = [
  "",
  "rounds",
  "p50 beside the sink",
  "p50 attacked",
  "rise, median (least to most)",
  "verdict",
];

const BAR_SENTENCE = wrapParagraph(
  [
    `The bar: by the median of at least ${ROUNDS} rounds, the p50 from joining to schedulable of the other clusters' nodes is less than`,
    `${BAR.joiningRise * 100} % above that beside the null sink of the same round, and in no round is a node missing, or the relay gone.`,
  ].join(" "),
);

function formatRow(attack: string, pairs: RoundResults["pairs"]): string[] {
  const rises = pairs
    .flatMap(({ sink, attacked }) => getJoiningRise(attacked, sink) ?? [])
    .toSorted((a, b) => a - b);
  const median = getPercentile(rises, 0.5);
  const p50 = (which: "sink" | "attacked"): number =>
    getPercentile(
      pairs.map((pair) => pair[which].joiningP50Ms),
      0.5,
    ) ?? 0;
  const misses = new Set(
    pairs.flatMap(({ sink, attacked }) =>
      listMisses(attacked, sink).filter((miss) => DECIDING.includes(miss)),
    ),
  );
  if (median === undefined || median >= BAR.joiningRise) misses.add("joining");
  if (pairs.length < ROUNDS) misses.add(`${formatCount(pairs.length)} of ${ROUNDS} rounds`);
  return [
    attack,
    formatCount(pairs.length),
    formatMs(p50("sink")),
    formatMs(p50("attacked")),
    median === undefined
      ? "–"
      : `${formatPercent(median)} (${formatPercent(rises[0] ?? 0)} to ${formatPercent(rises.at(-1) ?? 0)})`,
    misses.size === 0 ? "met" : `missed: ${[...misses].join(", ")}`,
  ];
}

/** What a single round decides; the rise of a p50 is judged over all rounds. */
const DECIDING: readonly string[] = ["the relay ended", "nodes missing"];

function formatPercent(rise: number): string {
  const rounded = Math.round(rise * 100);
  return `${rounded < 0 ? "−" : "+"}${Math.abs(rounded)} %`;
}

function formatParagraph({
  startedAt,
  version,
  node,
  cores,
  cpu,
  clusters,
  ...results
}: RoundResults): string {
  const { nodesEach, rate, seconds } = results;
  const sentences = [
    `${startedAt.slice(0, 10)}, ${version}, Node ${node} on ${cores} cores of ${cpu}: one relay of ${formatCount(clusters)} clusters in one account and region,`,
    `one of them hostile, with ${formatCount(nodesEach)} nodes each; ${formatNumber(rate)} nodes a second join the others all the time.`,
    `Each attack is measured for ${formatNumber(seconds)} s. Right before or after, for as long, the relay's hostile cluster is at rest`,
    "and the same attack goes on against a null sink, at the lowest priority both times.",
  ];
  return wrapParagraph(sentences.join(" "));
}
