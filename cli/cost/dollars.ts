/**
 * Dollars as people read them: to the cent below 100, whole above, and never a 0 for what costs something. Half a cent goes up.
 */
export function dollars(usd: number): string {
  if (usd === 0) return "0";
  if (usd < 0.005) return "<0.01";
  if (usd < 99.995) return usd.toFixed(2);
  return Math.round(usd).toLocaleString("en-US");
}

/** A count with its thousands apart, and a decimal only where there is one. */
export function countOf(count: number): string {
  return count.toLocaleString("en-US", { maximumFractionDigits: 1 });
}

/** A small share to two digits that mean something. */
export function shareOf(share: number): string {
  return share.toLocaleString("en-US", { maximumSignificantDigits: 2 });
}
