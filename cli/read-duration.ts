import type { ConfigurationFault } from "#cli/configuration-error.ts";
import { parseDurationSeconds } from "#cli/duration.ts";
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
