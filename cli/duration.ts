const UNIT_SECONDS: Readonly<Record<string, number>> = {
  ns: 1e-9,
  us: 1e-6,
  µs: 1e-6,
  ms: 1e-3,
  s: 1,
  m: 60,
  h: 3600,
};

/**
 * Parses a duration in Go's notation (`5m0s`, `1h30m`, `250ms`, `1.5h`) to seconds; undefined if it is
 * malformed or negative.
 */
export function parseDurationSeconds(text: string): number | undefined {
  if (text === "0") return 0;
  if (!/^(\d+(\.\d*)?(ns|us|µs|ms|s|m|h))+$/.test(text)) return undefined;
  let seconds = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d*)?)(ns|us|µs|ms|s|m|h)/g)) {
    seconds += Number(amount) * (UNIT_SECONDS[unit ?? ""] ?? Number.NaN);
  }
  return Number.isFinite(seconds) ? seconds : undefined;
}
