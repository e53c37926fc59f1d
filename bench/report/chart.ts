import { element, escapeXml, type Point } from "#bench/report/svg.ts";

/** A mark on an axis: where, and what is written beside it. */
export interface Tick {
  readonly at: number;
  readonly text: string;
}

/** What there is to a chart beside its frame. */
export interface Chart {
  readonly title: string;
  /** The same in a sentence or two, for those who cannot see it. */
  readonly description: string;
  readonly xAxis: { readonly title: string; readonly ticks: readonly Tick[] };
  readonly yAxis: { readonly title: string; readonly ticks: readonly Tick[] };
  /** Markup of lines and labels. */
  readonly content: readonly string[];
}

/** The whole picture, in units that are pixels at its natural size. */
export const WIDTH = 910;
export const HEIGHT = 440;

/** The part of the picture between the axes; to its right there is room for names. */
export const PLOT = { left: 76, right: 640, top: 52, bottom: 376 } as const;

const INK = "#1a1a1a";
/** For what is said beside. */
export const FAINT_INK = "#5c5c5c";
const GRID = "#dedede";
const PAPER = "#ffffff";
const FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";

/** A chart as an SVG document on a ground of its own, so that it reads on white and on dark pages. */
export function drawChart({ title, description, xAxis, yAxis, content }: Chart): string {
  const root = {
    xmlns: "http://www.w3.org/2000/svg",
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    width: WIDTH,
    height: HEIGHT,
    role: "img",
    "font-family": FONTS,
    "font-size": 13,
    fill: INK,
  };
  const parts = [
    element("title", {}, escapeXml(title)),
    element("desc", {}, escapeXml(description)),
    element("rect", { width: WIDTH, height: HEIGHT, rx: 6, fill: PAPER }),
    text({ x: PLOT.left, y: 30 }, title, { "font-size": 16, "font-weight": "600" }),
    ...xAxis.ticks.flatMap(drawXTick),
    ...yAxis.ticks.flatMap(drawYTick),
    text({ x: (PLOT.left + PLOT.right) / 2, y: HEIGHT - 20 }, xAxis.title, middle),
    text({ x: 0, y: 0 }, yAxis.title, {
      ...middle,
      transform: `translate(20 ${(PLOT.top + PLOT.bottom) / 2}) rotate(-90)`,
    }),
    ...content,
  ];
  return `${element("svg", root, "\n", parts.join("\n"), "\n")}\n`;
}

/** A text at a point of its baseline. */
export function text(
  { x, y }: Point,
  content: string,
  attributes: Readonly<Record<string, string | number>> = {},
): string {
  return element("text", { x, y, ...attributes }, escapeXml(content));
}

/** Attributes of a text that crosses lines: it has a rim in the colour of the ground. */
export const RIMMED = {
  "paint-order": "stroke",
  stroke: PAPER,
  "stroke-width": 4,
  "stroke-linejoin": "round",
} as const;

/** About how wide a text is: browsers differ, and letters of these fonts are 0.56 of their size wide on average. */
export function textWidth(content: string, size = 13): number {
  return content.length * size * 0.56;
}

const middle = { "text-anchor": "middle", fill: FAINT_INK } as const;

function drawXTick({ at, text: label }: Tick): string[] {
  return [
    element("line", { x1: at, y1: PLOT.top, x2: at, y2: PLOT.bottom, stroke: GRID }),
    text({ x: at, y: PLOT.bottom + 20 }, label, middle),
  ];
}

function drawYTick({ at, text: label }: Tick): string[] {
  return [
    element("line", { x1: PLOT.left, y1: at, x2: PLOT.right, y2: at, stroke: GRID }),
    text({ x: PLOT.left - 8, y: at + 4 }, label, { "text-anchor": "end", fill: FAINT_INK }),
  ];
}
