/** The summary of several repetitions of one measurement. */
export interface Spread {
  /** The middle one, or the mean of the two in the middle. */
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Computes the spread of the values, in any order; undefined without values. */
export function computeSpread(values: readonly number[]): Spread | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const below = sorted[Math.ceil(sorted.length / 2) - 1];
  const above = sorted[Math.floor(sorted.length / 2)];
  const [min, max] = [sorted[0], sorted.at(-1)];
  if (below === undefined || above === undefined || min === undefined || max === undefined) return undefined;
  return { median: (below + above) / 2, min, max };
}
