import type { ContenderName } from "#bench/measurement.ts";

/** The style of a contender's line. */
export interface ContenderStyle {
  readonly colour: string;
  readonly width: number;
  /** Empty for a solid line. */
  readonly dashes: string;
}

/**
 * Colours by Okabe and Ito, distinguishable with any kind of colour vision; dashes distinguish the lines
 * without colour.
 */
export const CONTENDER_STYLES = {
  floor: { colour: "#000000", width: 1.8, dashes: "2 3" },
  "floor-with-events": { colour: "#cc79a7", width: 2, dashes: "7 3" },
  "stock-defaults": { colour: "#d55e00", width: 2, dashes: "12 3 2 3" },
  "stock-tuned": { colour: "#e69f00", width: 2, dashes: "" },
  run: { colour: "#0072b2", width: 3, dashes: "" },
  lambda: { colour: "#009e73", width: 3, dashes: "9 2" },
  "lambda-8": { colour: "#56b4e9", width: 3, dashes: "4 2" },
} as const satisfies Record<ContenderName, ContenderStyle>;

/** Returns a style as the attributes of a line in SVG. */
export function buildStroke(contender: ContenderName): Record<string, string | number> {
  const { colour, width, dashes } = CONTENDER_STYLES[contender];
  return {
    fill: "none",
    stroke: colour,
    "stroke-width": width,
    "stroke-linejoin": "round",
    ...(dashes === "" ? {} : { "stroke-dasharray": dashes }),
  };
}
