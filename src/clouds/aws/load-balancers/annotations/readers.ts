import * as reading from "#clouds/annotations/readers.ts";
import { accept, type Reader, readTrimmed, reject } from "#clouds/annotations/readers.ts";
import { checkLabelKey, checkLabelValue } from "#core/label-syntax.ts";
import { hasLabel } from "#core/service/state-annotation.ts";

/** Reads a text of a given shape, with surrounding white space trimmed. */
export function readText(shape: RegExp, allowed: string): Reader<string> {
  return readTrimmed(reading.readText(shape, allowed));
}

/** Reads a boolean as the stock controller's language, Go, does. */
export const readBoolean = readTrimmed(reading.readBoolean);

/** Reads a whole number in a range, both ends included. */
export function readInteger(from: number, to: number, unit = ""): Reader<number> {
  return readTrimmed(reading.readInteger(from, to, { unit, parseNumber: parseInteger }));
}

/** Parses decimal digits with an optional sign; undefined for any other text. */
export function parseInteger(written: string): number | undefined {
  return /^[+-]?\d{1,15}$/.test(written) ? Number(written) : undefined;
}

/** Reads one of a few words; capitals are ignored if `anyCase`. */
export function readEnum<const Word extends string>(
  words: readonly Word[],
  anyCase?: "anyCase",
): Reader<Word> {
  return readTrimmed(reading.readEnum(words, anyCase));
}

/**
 * Splits keys and values as the stock controller does: comma-separated items, trimmed. The key is the part
 * before the first `=`, the value the part up to the next `=`, untrimmed. Items without a key are dropped.
 */
export function parsePairs(written: string): readonly (readonly [key: string, value: string])[] {
  return reading.splitItems(written).flatMap((item) => {
    const [key = "", value = ""] = item.split("=");
    return key === "" ? [] : [[key, value] as const];
  });
}

/** Labels that a node must have; an empty value matches any value. */
export type TargetNodeLabels = Readonly<Record<string, string>>;

/** Reads `target-node-labels`; undefined if it names no label. */
export const readTargetNodeLabels: Reader<TargetNodeLabels | undefined> = (written) => {
  const labels = parsePairs(written);
  if (labels.length === 0) return accept(undefined);
  const isGood = labels.every(
    ([key, value]) => checkLabelKey(key) === undefined && checkLabelValue(value) === undefined,
  );
  return isGood
    ? accept(Object.fromEntries(labels))
    : reject("labels as key=value,key=value, or a key alone for any value");
};

/**
 * Whether a node has all of the labels; `marks` are its label hashes as `src/core/service/state-annotation.ts` writes
 * them.
 */
export function hasLabels(hashes: string | undefined, required: TargetNodeLabels | undefined): boolean {
  return Object.entries(required ?? {}).every(
    ([key, value]) => hashes !== undefined && hasLabel(hashes, key, value),
  );
}
