/**
 * Returns a percentile by nearest rank, so it is always one of the values: the smallest one that at least `share`
 * (0 < share ≤ 1) of the values do not exceed. Undefined without values; their order does not matter.
 */
export function getPercentile(values: readonly number[], share: number): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  // The product is rounded before it is rounded up: 0.07 × 100 is 7.000000000000001.
  const rank = Math.ceil(Number((share * sorted.length).toFixed(6)));
  return sorted[Math.max(1, rank) - 1];
}
