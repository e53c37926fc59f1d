import type { ConfigurationFault } from "#cli/configuration-error.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/** The allowed range of a duration in seconds, the range in words, and examples of the notation. */
export interface DurationRange {
  readonly from: number;
  readonly to: number;
  readonly words: string;
  readonly examples: string;
}

/** Reads a flag's duration in Go's notation to seconds; a malformed or out-of-range one goes to `faults`. */
export function readDuration(
  name: string,
  text: string | undefined,
  { from, to, words, examples }: DurationRange,
  faults: ConfigurationFault[],
): number | undefined {
  if (text === undefined) return undefined;
  const seconds = parseDurationSeconds(text);
  if (seconds !== undefined && seconds >= from && seconds <= to) return seconds;
  faults.push({
    name,
    message: `"${sanitizeText(text)}" is no duration of ${words}; write it as ${examples}`,
  });
  return undefined;
}

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
