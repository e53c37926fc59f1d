import * as reading from "#clouds/annotations/reading.ts";
import { type Reader, trimmed } from "#clouds/annotations/reading.ts";

/** A text without white space around it, of a shape. */
export function text(shape: RegExp, allowed: string): Reader<string> {
  return trimmed(reading.text(shape, allowed));
}

/** What the stock controller's language reads as a boolean. */
export const boolean = trimmed(reading.boolean);

/** A whole number from one to another, both included. */
export function wholeNumber(from: number, to: number, unit = ""): Reader<number> {
  return trimmed(reading.wholeNumber(from, to, { unit, numberOf }));
}

/** The number that decimal digits stand for, with a sign or without; undefined for whatever else. */
export function numberOf(written: string): number | undefined {
  return /^[+-]?\d{1,15}$/.test(written) ? Number(written) : undefined;
}

/** One of a few words; how they are capitalized does not matter where `anyCase`. */
export function oneOf<const Word extends string>(words: readonly Word[], anyCase?: "anyCase"): Reader<Word> {
  return trimmed(reading.oneOf(words, anyCase));
}

/**
 * Keys and values as the stock controller splits them: items between commas, trimmed; of an item what stands before the first `=`
 * is the key, and what stands between it and the next is the value, which is not trimmed. Items without a key are left out.
 */
export function pairsOf(written: string): readonly (readonly [key: string, value: string])[] {
  return reading.itemsOf(written).flatMap((item) => {
    const [key = "", value = ""] = item.split("=");
    return key === "" ? [] : [[key, value] as const];
  });
}
