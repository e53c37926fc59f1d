import type { Spread } from "#bench/report/spread.ts";

/** Formats a count: `12,345`; with one decimal for the mean of two counts. */
export function formatCount(count: number): string {
  return groupThousands(Number(count.toFixed(1)));
}

/** Formats a measured number to three significant digits: `12,300`, `1.15`, `0.0123`. */
export function formatNumber(value: number, digits = 3): string {
  return groupThousands(Number(value.toPrecision(digits)));
}

/** Formats milliseconds to three digits: `214 ms`, `1.39 s`. */
export function formatMs(ms: number, digits = 3): string {
  const { divisor, unit } = selectTimeUnit(ms);
  return `${formatNumber(ms / divisor, digits)} ${unit}`;
}

/**
 * Formats the median and its range in one unit: `1.39 s (1.2–1.41)`; the range is left out if it adds
 * nothing.
 */
export function formatMsSpread(spread: Spread): string {
  const { divisor } = selectTimeUnit(spread.median);
  return `${formatMs(spread.median)}${formatRange(spread, (ms) => formatNumber(ms / divisor))}`;
}

/** Formats the median and its range: `412 (398–430)`. */
export function formatSpread(
  spread: Spread,
  format: (value: number) => string = (value) => formatNumber(value),
): string {
  return `${format(spread.median)}${formatRange(spread, format)}`;
}

function formatRange({ median, min, max }: Spread, format: (value: number) => string): string {
  const [low, middle, high] = [format(min), format(median), format(max)];
  return low === middle && middle === high ? "" : ` (${low}–${high})`;
}

function selectTimeUnit(ms: number): { divisor: number; unit: string } {
  // A value that rounds to 1,000 ms is a second.
  return Number(ms.toPrecision(3)) < 1_000 ? { divisor: 1, unit: "ms" } : { divisor: 1_000, unit: "s" };
}

// Node's number formats follow the machine's ICU data; bytes must not.
function groupThousands(value: number): string {
  const [whole = "", fraction] = formatPlain(value).split(".");
  const groups = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction === undefined ? groups : `${groups}.${fraction}`;
}

/** Without an exponent: numbers here are neither below a millionth nor above 10^20. */
function formatPlain(value: number): string {
  return Math.abs(value) < 1e-6 ? "0" : String(value);
}
