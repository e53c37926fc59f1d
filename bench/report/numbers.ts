import type { Spread } from "#bench/report/spread.ts";

/** A number of things, whole: `12,345`; with one decimal where it is the mean of two whole ones. */
export function formatCount(count: number): string {
  return grouped(Number(count.toFixed(1)));
}

/** A measured number to three significant digits: `12,300`, `1.15`, `0.0123`. */
export function formatNumber(value: number, digits = 3): string {
  return grouped(Number(value.toPrecision(digits)));
}

/** Milliseconds as people read them, to three digits: `214 ms`, `1.39 s`. */
export function formatMs(ms: number, digits = 3): string {
  const { divisor, unit } = timeUnit(ms);
  return `${formatNumber(ms / divisor, digits)} ${unit}`;
}

/** The median with its range behind it, in one unit: `1.39 s (1.2–1.41)`; the range is left out where it says nothing. */
export function formatMsSpread(spread: Spread): string {
  const { divisor } = timeUnit(spread.median);
  return `${formatMs(spread.median)}${range(spread, (ms) => formatNumber(ms / divisor))}`;
}

/** The median with its range behind it: `412 (398–430)`. */
export function formatSpread(
  spread: Spread,
  format: (value: number) => string = (value) => formatNumber(value),
): string {
  return `${format(spread.median)}${range(spread, format)}`;
}

function range({ median, min, max }: Spread, format: (value: number) => string): string {
  const [low, middle, high] = [format(min), format(median), format(max)];
  return low === middle && middle === high ? "" : ` (${low}–${high})`;
}

function timeUnit(ms: number): { divisor: number; unit: string } {
  // What would be written as 1,000 ms is a second.
  return Number(ms.toPrecision(3)) < 1_000 ? { divisor: 1, unit: "ms" } : { divisor: 1_000, unit: "s" };
}

// Node's number formats follow the machine's ICU data; bytes must not.
function grouped(value: number): string {
  const [whole = "", fraction] = plain(value).split(".");
  const groups = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction === undefined ? groups : `${groups}.${fraction}`;
}

/** Without an exponent: numbers here are neither below a millionth nor above 10^20. */
function plain(value: number): string {
  return Math.abs(value) < 1e-6 ? "0" : String(value);
}
