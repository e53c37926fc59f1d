/** A part of a logarithmic axis, both ends positive and included. */
export interface LogDomain {
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the narrowest domain between steps of 1, 2 and 5 that contains all values; undefined without
 * positive values.
 */
export function logDomain(values: Iterable<number>): LogDomain | undefined {
  let [least, most] = [Number.POSITIVE_INFINITY, 0];
  for (const value of values) {
    if (value > 0 && value < least) least = value;
    if (value > most) most = value;
  }
  if (!Number.isFinite(least) || !Number.isFinite(most)) return undefined;
  const from = listSteps(least, most).findLast((step) => step <= least) ?? least;
  const to = listSteps(least, most).find((step) => step >= most && step > from) ?? most;
  return { from, to };
}

/**
 * Returns the marks of an axis: at 1, 2 and 5 of each decade, or only at decades if it spans more than three.
 */
export function logTicks({ from, to }: LogDomain): number[] {
  const inside = listSteps(from, to).filter((step) => step >= from && step <= to);
  const decades = inside.filter((step) => Number.isInteger(round(Math.log10(step))));
  return to / from > 1_000 && decades.length >= 2 ? decades : inside;
}

/**
 * Returns a function from a value to its place between `start` and `end`; values outside the domain are put
 * at its ends.
 */
export function logScale({ from, to }: LogDomain, start: number, end: number): (value: number) => number {
  const width = Math.log10(to / from);
  return (value) => {
    const inside = Math.min(to, Math.max(from, value));
    return start + ((end - start) * Math.log10(inside / from)) / width;
  };
}

/** Returns the steps of 1, 2 and 5 from below `least` to above `most`. */
function listSteps(least: number, most: number): number[] {
  // One more decade on both sides: the logarithm of a value just below a power of ten is that of the power.
  const [first, last] = [Math.floor(Math.log10(least)) - 1, Math.ceil(Math.log10(most)) + 1];
  const exponents = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  return exponents.flatMap((exponent) => [1, 2, 5].map((digit) => round(digit * 10 ** exponent)));
}

function round(value: number): number {
  return Number(value.toPrecision(12));
}
