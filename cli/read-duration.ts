import type { ConfigurationFault } from "#cli/configuration-error.ts";
import { parseDurationSeconds } from "#cli/duration.ts";
import { shown } from "#core/shown-text.ts";

/** From how many seconds to how many a duration may be, the same in words, and durations that show how one is written. */
export interface DurationRange {
  readonly from: number;
  readonly to: number;
  readonly words: string;
  readonly examples: string;
}

/** Reads a flag's duration in Go's notation to seconds; one that is none, or out of range, goes to `faults`. */
export function readDuration(
  name: string,
  text: string | undefined,
  { from, to, words, examples }: DurationRange,
  faults: ConfigurationFault[],
): number | undefined {
  if (text === undefined) return undefined;
  const seconds = parseDurationSeconds(text);
  if (seconds !== undefined && seconds >= from && seconds <= to) return seconds;
  faults.push({ name, message: `"${shown(text)}" is no duration of ${words}; write it as ${examples}` });
  return undefined;
}
