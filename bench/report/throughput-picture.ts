import { CONTENDERS, type ContenderName, type Results } from "#bench/measurement.ts";
import { drawChart, drawText, PLOT } from "#bench/report/chart.ts";
import { buildStroke, CONTENDER_STYLES } from "#bench/report/contender-style.ts";
import { logDomain, logScale, logTicks } from "#bench/report/log-scale.ts";
import { formatCount, formatNumber } from "#bench/report/numbers.ts";
import type { Spread } from "#bench/report/spread.ts";
import { type Summary, summarize } from "#bench/report/summary.ts";
import { formatCoordinate, formatElement, type Point } from "#bench/report/svg.ts";
import { CONTENDER_TITLES } from "#bench/report/titles.ts";

/**
 * Draws nodes per second over the number of nodes that come at once with provider IDs. Each contender has a
 * line through its medians, with bars from the minimum to the maximum of the repetitions. Returns undefined
 * unless there are two such numbers of nodes.
 */
export function drawThroughput(results: Results): string | undefined {
  const lines = buildLines(summarize(results));
  const counts = [...new Set(lines.flatMap(({ points }) => points.map(({ nodes }) => nodes)))];
  const yDomain = logDomain(lines.flatMap(getExtremes));
  if (counts.length < 2 || yDomain === undefined) return undefined;
  const scales = {
    x: logScale({ from: Math.min(...counts) / 1.2, to: Math.max(...counts) * 1.2 }, PLOT.left, PLOT.right),
    y: logScale(yDomain, PLOT.bottom, PLOT.top),
  };
  const title = "Throughput over the number of nodes that come at once";
  return drawChart({
    title,
    description: `${title}, both logarithmic. ${lines.map(describeLine).join("; ")}.`,
    xAxis: {
      title: "nodes at once, with provider IDs, logarithmic",
      ticks: counts.map((count) => ({ at: scales.x(count), text: formatCount(count) })),
    },
    yAxis: {
      title: "nodes per second, logarithmic",
      ticks: logTicks(yDomain).map((value) => ({ at: scales.y(value), text: formatNumber(value) })),
    },
    content: [...lines.flatMap((line) => drawLine(line, scales)), ...drawNames(lines, scales)],
  });
}

interface Line {
  readonly contender: ContenderName;
  /** In the order of `nodes`, at least one. */
  readonly points: readonly { readonly nodes: number; readonly throughput: Spread }[];
}

interface Scales {
  readonly x: (nodes: number) => number;
  readonly y: (nodesPerSecond: number) => number;
}

function buildLines(summaries: readonly Summary[]): Line[] {
  return CONTENDERS.flatMap((contender) => {
    const points = summaries
      .filter(({ row }) => row.arrival.kind === "at-once" && row.providerIds)
      .filter((summary) => summary.contender === contender)
      .flatMap(({ row, spreads: { nodesPerSecond } }) =>
        // A logarithmic axis has no place for a repetition without nodes.
        nodesPerSecond && nodesPerSecond.min > 0 ? [{ nodes: row.nodes, throughput: nodesPerSecond }] : [],
      )
      .sort((a, b) => a.nodes - b.nodes);
    return points.length === 0 ? [] : [{ contender, points }];
  });
}

function getExtremes({ points }: Line): number[] {
  return points.flatMap(({ throughput }) => [throughput.min, throughput.max]);
}

function describeLine({ contender, points }: Line): string {
  const told = points.map(
    ({ nodes, throughput }) => `${formatNumber(throughput.median)}/s of ${formatCount(nodes)}`,
  );
  return `${CONTENDER_TITLES[contender]}: ${told.join(", ")}`;
}

function drawLine({ contender, points }: Line, { x, y }: Scales): string[] {
  const places = points.map(({ nodes, throughput }) => ({ x: x(nodes), y: y(throughput.median) }));
  const path = places.map((place) => `${formatCoordinate(place.x)},${formatCoordinate(place.y)}`).join(" ");
  const { colour } = CONTENDER_STYLES[contender];
  return [
    formatElement("polyline", { points: path, ...buildStroke(contender) }),
    ...points.map(({ nodes, throughput: { min, max } }) =>
      formatElement("line", {
        x1: x(nodes),
        y1: y(min),
        x2: x(nodes),
        y2: y(max),
        stroke: colour,
        "stroke-width": 1.5,
      }),
    ),
    ...places.map((place) => formatElement("circle", { cx: place.x, cy: place.y, r: 4, fill: colour })),
  ];
}

/** Draws names right of the plot, at the height of the line's end or as near as other names allow. */
function drawNames(lines: readonly Line[], { x, y }: Scales): string[] {
  const ends = lines
    .flatMap(({ contender, points }) => {
      const last = points.at(-1);
      return last ? [{ contender, x: x(last.nodes), y: y(last.throughput.median) }] : [];
    })
    .sort((a, b) => a.y - b.y);
  const heights = spreadHeights(
    ends.map((end) => end.y),
    NAME_HEIGHT,
    PLOT.bottom,
  );
  return ends.flatMap((end, index) => drawName(end.contender, end, heights[index] ?? end.y));
}

const NAME_HEIGHT = 18;

function drawName(contender: ContenderName, end: Point, height: number): string[] {
  const left = PLOT.right + 10;
  const { colour } = CONTENDER_STYLES[contender];
  return [
    formatElement("path", {
      d: `M${formatCoordinate(end.x + 6)} ${formatCoordinate(end.y)}L${formatCoordinate(left)} ${formatCoordinate(height)}`,
      fill: "none",
      stroke: colour,
      "stroke-width": 0.8,
    }),
    formatElement("circle", { cx: left + 4, cy: height, r: 4, fill: colour }),
    drawText({ x: left + 14, y: height + 4 }, CONTENDER_TITLES[contender]),
  ];
}

/** Moves ascending heights down until they are `distance` apart, and up again if that goes below `bottom`. */
function spreadHeights(heights: readonly number[], distance: number, bottom: number): number[] {
  const moved = [...heights];
  for (let index = 1; index < moved.length; index++) {
    moved[index] = Math.max(moved[index] ?? 0, (moved[index - 1] ?? 0) + distance);
  }
  let limit = bottom;
  for (let index = moved.length - 1; index >= 0; index--) {
    moved[index] = Math.min(moved[index] ?? 0, limit);
    limit = (moved[index] ?? 0) - distance;
  }
  return moved;
}
