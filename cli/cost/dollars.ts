/**
 * Formats dollars: with cents below 100, whole above, and never 0 for a positive amount. Half a cent rounds
 * up.
 */
export function formatDollars(usd: number): string {
  if (usd === 0) return "0";
  if (usd < 0.005) return "<0.01";
  if (usd < 99.995) return usd.toFixed(2);
  return Math.round(usd).toLocaleString("en-US");
}

/** Formats a count with thousands separators, and a decimal only if it has one. */
export function formatCount(count: number): string {
  return count.toLocaleString("en-US", { maximumFractionDigits: 1 });
}

/** Formats a small share with two significant digits. */
export function formatShare(share: number): string {
  return share.toLocaleString("en-US", { maximumSignificantDigits: 2 });
}
