import { escapeXml, formatElement, type Point } from "#bench/report/svg.ts";

/** A mark on an axis: its position and its label. */
export interface Tick {
  readonly at: number;
  readonly text: string;
}

/** The parts of a chart inside its frame. */
export interface Chart {
  readonly title: string;
  /** The chart's content in a sentence or two, for readers who cannot see it. */
  readonly description: string;
  readonly xAxis: { readonly title: string; readonly ticks: readonly Tick[] };
  readonly yAxis: { readonly title: string; readonly ticks: readonly Tick[] };
  /** Markup of lines and labels. */
  readonly content: readonly string[];
}

/** The size of the whole picture, in units that are pixels at its natural size. */
export const WIDTH = 910;
export const HEIGHT = 440;

/** The part of the picture between the axes; the space to its right is for names. */
export const PLOT = { left: 76, right: 640, top: 52, bottom: 376 } as const;

const INK = "#1a1a1a";
/** For secondary texts. */
export const FAINT_INK = "#5c5c5c";
const GRID = "#dedede";
const PAPER = "#ffffff";
const FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";

/** Draws a chart as an SVG document on its own background, readable on white and dark pages. */
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
    formatElement("title", {}, escapeXml(title)),
    formatElement("desc", {}, escapeXml(description)),
    formatElement("rect", { width: WIDTH, height: HEIGHT, rx: 6, fill: PAPER }),
    drawText({ x: PLOT.left, y: 30 }, title, { "font-size": 16, "font-weight": "600" }),
    ...xAxis.ticks.flatMap(drawXTick),
    ...yAxis.ticks.flatMap(drawYTick),
    drawText({ x: (PLOT.left + PLOT.right) / 2, y: HEIGHT - 20 }, xAxis.title, middle),
    drawText({ x: 0, y: 0 }, yAxis.title, {
      ...middle,
      transform: `translate(20 ${(PLOT.top + PLOT.bottom) / 2}) rotate(-90)`,
    }),
    ...content,
  ];
  return `${formatElement("svg", root, "\n", parts.join("\n"), "\n")}\n`;
}

/** Draws a text from a point of its baseline. */
export function drawText(
  { x, y }: Point,
  content: string,
  attributes: Readonly<Record<string, string | number>> = {},
): string {
  return formatElement("text", { x, y, ...attributes }, escapeXml(content));
}

/** Attributes of a text that crosses lines: a rim in the colour of the background. */
export const RIMMED = {
  "paint-order": "stroke",
  stroke: PAPER,
  "stroke-width": 4,
  "stroke-linejoin": "round",
} as const;

/**
 * Estimates the width of a text: browsers differ, and letters of these fonts are 0.56 of their size wide on
 * average.
 */
export function estimateTextWidth(content: string, size = 13): number {
  return content.length * size * 0.56;
}

const middle = { "text-anchor": "middle", fill: FAINT_INK } as const;

function drawXTick({ at, text: label }: Tick): string[] {
  return [
    formatElement("line", { x1: at, y1: PLOT.top, x2: at, y2: PLOT.bottom, stroke: GRID }),
    drawText({ x: at, y: PLOT.bottom + 20 }, label, middle),
  ];
}

function drawYTick({ at, text: label }: Tick): string[] {
  return [
    formatElement("line", { x1: PLOT.left, y1: at, x2: PLOT.right, y2: at, stroke: GRID }),
    drawText({ x: PLOT.left - 8, y: at + 4 }, label, { "text-anchor": "end", fill: FAINT_INK }),
  ];
}
