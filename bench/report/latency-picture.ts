import { CONTENDERS, type ContenderName, type Measurement, type Row } from "#bench/measurement.ts";
import { drawChart, FAINT_INK, PLOT, RIMMED, type Tick, text, textWidth } from "#bench/report/chart.ts";
import { CONTENDER_STYLES, strokeOf } from "#bench/report/contender-style.ts";
import { logDomain, logScale, logTicks } from "#bench/report/log-scale.ts";
import { formatMs } from "#bench/report/numbers.ts";
import { spreadOf } from "#bench/report/spread.ts";
import { METRICS } from "#bench/report/summary.ts";
import { coordinate, element, type Point } from "#bench/report/svg.ts";
import { CONTENDER_TITLES, rowTitle } from "#bench/report/titles.ts";

/**
 * Of one row: which share of the nodes was schedulable how long after its registration, a line for each contender, over
 * the nodes of all repetitions together. Nodes that never came up are counted in the whole: such a line ends below
 * 100 %. Undefined where no node came up.
 */
export function latencyPicture(row: Row, measurements: readonly Measurement[]): string | undefined {
  const curves = CONTENDERS.flatMap((contender) => curveOf(contender, row, measurements));
  const domain = logDomain(
    curves.flatMap(({ latenciesMs }) => [latenciesMs[0] ?? 0, latenciesMs.at(-1) ?? 0]),
  );
  if (domain === undefined) return undefined;
  const x = logScale(domain, PLOT.left, PLOT.right);
  const title = `${rowTitle(row)}: time from registration to schedulable`;
  return drawChart({
    title,
    description: `${title}. ${curves.map((curve) => `${CONTENDER_TITLES[curve.contender]}: ${inWords(curve)}`).join("; ")}.`,
    xAxis: {
      title: "time from registration to schedulable, logarithmic",
      ticks: logTicks(domain).map((ms) => ({ at: x(ms), text: formatMs(ms) })),
    },
    yAxis: { title: "share of the nodes", ticks: SHARE_TICKS },
    content: [
      ...curves.map((curve) => drawCurve(curve, x)),
      ...labelled(curves).flatMap(({ curve, share }) => drawLabel(curve, share, x)),
      ...curves.flatMap(drawLegendEntry),
    ],
  });
}

interface Curve {
  readonly contender: ContenderName;
  /** Ascending, none below `LEAST_MS`, at least one. */
  readonly latenciesMs: readonly number[];
  /** The missing ones included. */
  readonly nodes: number;
  /** As in the row's table: the median of the repetitions' own. */
  readonly p50Ms: number;
}

/** Anything faster is drawn here: a logarithmic axis has no 0. */
const LEAST_MS = 1;

/** Steps of a line at most: more cannot be seen at this size. */
const MAX_STEPS = 250;

const SHARE_TICKS: readonly Tick[] = [0, 0.25, 0.5, 0.75, 1].map((share) => ({
  at: y(share),
  text: `${share * 100} %`,
}));

function curveOf(contender: ContenderName, row: Row, measurements: readonly Measurement[]): Curve[] {
  const own = measurements.filter((one) => one.row === row.id && one.contender === contender);
  const latenciesMs = own
    .flatMap((one) => one.latenciesMs)
    .map((ms) => Math.max(LEAST_MS, ms))
    .sort((a, b) => a - b);
  const nodes = own.reduce((sum, one) => sum + one.missingNodes, latenciesMs.length);
  const p50Ms = spreadOf(own.map(METRICS.p50Ms).filter((ms) => ms !== undefined))?.median;
  return p50Ms === undefined ? [] : [{ contender, latenciesMs, nodes, p50Ms }];
}

function drawCurve({ contender, latenciesMs, nodes }: Curve, x: (ms: number) => number): string {
  const steps = Math.min(MAX_STEPS, latenciesMs.length);
  const ranks = Array.from({ length: steps }, (_, step) =>
    Math.ceil(((step + 1) * latenciesMs.length) / steps),
  );
  const path = ranks.map((rank) => {
    const across = coordinate(x(latenciesMs[rank - 1] ?? LEAST_MS));
    return `H${across}V${coordinate(y(rank / nodes))}`;
  });
  const start = `M${coordinate(x(latenciesMs[0] ?? LEAST_MS))} ${coordinate(y(0))}`;
  return element("path", { d: `${start}${path.join("")}`, ...strokeOf(contender) });
}

/** Each line has its name at a height of its own, so that no name meets another; those that end early have it low. */
function labelled(curves: readonly Curve[]): { curve: Curve; share: number }[] {
  const reach = ({ latenciesMs, nodes }: Curve): number => latenciesMs.length / nodes;
  const highestFirst = curves.toSorted((a, b) => reach(b) - reach(a));
  return highestFirst.map((curve, index) => ({ curve, share: 1 - (index + 1) / (curves.length + 1) }));
}

/** A dot on the line where it reaches the share, or where it ends, with the name beside it. */
function drawLabel(
  { contender, latenciesMs, nodes }: Curve,
  share: number,
  x: (ms: number) => number,
): string[] {
  const rank = Math.min(latenciesMs.length, Math.max(1, Math.round(share * nodes)));
  const point: Point = { x: x(latenciesMs[rank - 1] ?? LEAST_MS), y: y(rank / nodes) };
  const title = CONTENDER_TITLES[contender];
  const fits = point.x + GAP + textWidth(title) <= PLOT.right;
  const place = { x: point.x + (fits ? GAP : -GAP), y: point.y + 4 };
  return [
    element("circle", { cx: point.x, cy: point.y, r: 4, fill: CONTENDER_STYLES[contender].colour }),
    text(place, title, { "text-anchor": fits ? "start" : "end", ...RIMMED }),
  ];
}

const GAP = 9;

function drawLegendEntry(curve: Curve, index: number): string[] {
  const [left, top] = [PLOT.right + 20, PLOT.top + 8 + index * 44];
  return [
    element("line", { x1: left, y1: top, x2: left + 28, y2: top, ...strokeOf(curve.contender) }),
    text({ x: left + 36, y: top + 4 }, CONTENDER_TITLES[curve.contender]),
    text({ x: left + 36, y: top + 20 }, inWords(curve), { "font-size": 12, fill: FAINT_INK }),
  ];
}

function inWords({ latenciesMs, nodes, p50Ms }: Curve): string {
  return `p50 ${formatMs(p50Ms)}${latenciesMs.length < nodes ? ", not all came up" : ""}`;
}

function y(share: number): number {
  return PLOT.bottom - share * (PLOT.bottom - PLOT.top);
}
