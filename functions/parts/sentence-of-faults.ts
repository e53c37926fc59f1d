import type { Fault } from "#core/faults.ts";

/** How many faults are named, each by its path, and in how many characters; what a stranger sent may have any number. */
const MAX_NAMED = 10;
const MAX_CHARACTERS = 1_000;

/** Names faults in one line of bounded length; quotes nothing but the names of fields. */
export function sentenceOfFaults(faults: readonly Fault[], whole: string): string {
  const named = faults.slice(0, MAX_NAMED).map(({ path, message }) => `${path || whole}: ${message}`);
  const more = faults.length > MAX_NAMED ? [`and ${faults.length - MAX_NAMED} more`] : [];
  const sentence = [...named, ...more].join("; ");
  return sentence.length > MAX_CHARACTERS ? `${sentence.slice(0, MAX_CHARACTERS)}…` : sentence;
}
