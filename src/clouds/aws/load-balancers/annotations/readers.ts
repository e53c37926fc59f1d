import * as reading from "#clouds/annotations/readers.ts";
import { type Reader, readTrimmed } from "#clouds/annotations/readers.ts";

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
