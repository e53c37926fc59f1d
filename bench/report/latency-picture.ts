import { CONTENDERS, type ContenderName, type Measurement, type Row } from "#bench/measurement.ts";
import {
  drawChart,
  drawText,
  estimateTextWidth,
  FAINT_INK,
  PLOT,
  RIMMED,
  type Tick,
} from "#bench/report/chart.ts";
import { buildStroke, CONTENDER_STYLES } from "#bench/report/contender-style.ts";
import { logDomain, logScale, logTicks } from "#bench/report/log-scale.ts";
import { formatMs } from "#bench/report/numbers.ts";
import { computeSpread } from "#bench/report/spread.ts";
import { METRICS } from "#bench/report/summary.ts";
import { formatCoordinate, formatElement, type Point } from "#bench/report/svg.ts";
import { CONTENDER_TITLES, formatRowTitle } from "#bench/report/titles.ts";

/**
 * Draws for one row the share of nodes that were schedulable after each time since registration. Each
 * contender has one line over the nodes of all repetitions together. Nodes that never came up count: such a
 * line ends below 100 %. Returns undefined if no node came up.
 */
export function drawLatencies(row: Row, measurements: readonly Measurement[]): string | undefined {
  const curves = CONTENDERS.flatMap((contender) => buildCurves(contender, row, measurements));
  const domain = logDomain(
    curves.flatMap(({ latenciesMs }) => [latenciesMs[0] ?? 0, latenciesMs.at(-1) ?? 0]),
  );
  if (domain === undefined) return undefined;
  const x = logScale(domain, PLOT.left, PLOT.right);
  const title = `${formatRowTitle(row)}: time from registration to schedulable`;
  return drawChart({
    title,
    description: `${title}. ${curves.map((curve) => `${CONTENDER_TITLES[curve.contender]}: ${describeCurve(curve)}`).join("; ")}.`,
    xAxis: {
      title: "time from registration to schedulable, logarithmic",
      ticks: logTicks(domain).map((ms) => ({ at: x(ms), text: formatMs(ms) })),
    },
    yAxis: { title: "share of the nodes", ticks: SHARE_TICKS },
    content: [
      ...curves.map((curve) => drawCurve(curve, x)),
      ...placeLabels(curves).flatMap(({ curve, share }) => drawLabel(curve, share, x)),
      ...curves.flatMap(drawLegendEntry),
    ],
  });
}

interface Curve {
  readonly contender: ContenderName;
  /** Ascending, at least `LEAST_MS` each, at least one. */
  readonly latenciesMs: readonly number[];
  /** Including the missing ones. */
  readonly nodes: number;
  /** As in the row's table: the median of the repetitions' own p50. */
  readonly p50Ms: number;
}

/** Faster times are drawn here: a logarithmic axis has no 0. */
const LEAST_MS = 1;

/** The maximum of steps in a line: more are not visible at this size. */
const MAX_STEPS = 250;

const SHARE_TICKS: readonly Tick[] = [0, 0.25, 0.5, 0.75, 1].map((share) => ({
  at: scaleShare(share),
  text: `${share * 100} %`,
}));

function buildCurves(contender: ContenderName, row: Row, measurements: readonly Measurement[]): Curve[] {
  const own = measurements.filter((one) => one.row === row.id && one.contender === contender);
  const latenciesMs = own
    .flatMap((one) => one.latenciesMs)
    .map((ms) => Math.max(LEAST_MS, ms))
    .sort((a, b) => a - b);
  const nodes = own.reduce((sum, one) => sum + one.missingNodes, latenciesMs.length);
  const p50Ms = computeSpread(own.map(METRICS.p50Ms).filter((ms) => ms !== undefined))?.median;
  return p50Ms === undefined ? [] : [{ contender, latenciesMs, nodes, p50Ms }];
}

function drawCurve({ contender, latenciesMs, nodes }: Curve, x: (ms: number) => number): string {
  const steps = Math.min(MAX_STEPS, latenciesMs.length);
  const ranks = Array.from({ length: steps }, (_, step) =>
    Math.ceil(((step + 1) * latenciesMs.length) / steps),
  );
  const path = ranks.map((rank) => {
    const across = formatCoordinate(x(latenciesMs[rank - 1] ?? LEAST_MS));
    return `H${across}V${formatCoordinate(scaleShare(rank / nodes))}`;
  });
  const start = `M${formatCoordinate(x(latenciesMs[0] ?? LEAST_MS))} ${formatCoordinate(scaleShare(0))}`;
  return formatElement("path", { d: `${start}${path.join("")}`, ...buildStroke(contender) });
}

/**
 * Places each line's name at its own height, so that names do not overlap; lines that end early have low
 * names.
 */
function placeLabels(curves: readonly Curve[]): { curve: Curve; share: number }[] {
  const reach = ({ latenciesMs, nodes }: Curve): number => latenciesMs.length / nodes;
  const highestFirst = curves.toSorted((a, b) => reach(b) - reach(a));
  return highestFirst.map((curve, index) => ({ curve, share: 1 - (index + 1) / (curves.length + 1) }));
}

/** Draws a dot where the line reaches the share, or at its end, with the name next to it. */
function drawLabel(
  { contender, latenciesMs, nodes }: Curve,
  share: number,
  x: (ms: number) => number,
): string[] {
  const rank = Math.min(latenciesMs.length, Math.max(1, Math.round(share * nodes)));
  const point: Point = { x: x(latenciesMs[rank - 1] ?? LEAST_MS), y: scaleShare(rank / nodes) };
  const title = CONTENDER_TITLES[contender];
  const fits = point.x + GAP + estimateTextWidth(title) <= PLOT.right;
  const place = { x: point.x + (fits ? GAP : -GAP), y: point.y + 4 };
  return [
    formatElement("circle", { cx: point.x, cy: point.y, r: 4, fill: CONTENDER_STYLES[contender].colour }),
    drawText(place, title, { "text-anchor": fits ? "start" : "end", ...RIMMED }),
  ];
}

const GAP = 9;

function drawLegendEntry(curve: Curve, index: number): string[] {
  const [left, top] = [PLOT.right + 20, PLOT.top + 8 + index * 44];
  return [
    formatElement("line", { x1: left, y1: top, x2: left + 28, y2: top, ...buildStroke(curve.contender) }),
    drawText({ x: left + 36, y: top + 4 }, CONTENDER_TITLES[curve.contender]),
    drawText({ x: left + 36, y: top + 20 }, describeCurve(curve), { "font-size": 12, fill: FAINT_INK }),
  ];
}

function describeCurve({ latenciesMs, nodes, p50Ms }: Curve): string {
  return `p50 ${formatMs(p50Ms)}${latenciesMs.length < nodes ? ", not all came up" : ""}`;
}

function scaleShare(share: number): number {
  return PLOT.bottom - share * (PLOT.bottom - PLOT.top);
}
