import type { ConfigError } from "#core/config-errors.ts";

/** Limits of named faults and of their characters; untrusted input may have any number. */
const MAX_NAMED = 10;
const MAX_CHARACTERS = 1_000;

/** Formats faults in one line of bounded length; quotes only field names. */
export function formatFaults(faults: readonly ConfigError[], whole: string): string {
  const named = faults.slice(0, MAX_NAMED).map(({ path, message }) => `${path || whole}: ${message}`);
  const more = faults.length > MAX_NAMED ? [`and ${faults.length - MAX_NAMED} more`] : [];
  const sentence = [...named, ...more].join("; ");
  return sentence.length > MAX_CHARACTERS ? `${sentence.slice(0, MAX_CHARACTERS)}…` : sentence;
}
