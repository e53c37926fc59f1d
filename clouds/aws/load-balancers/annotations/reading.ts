import { goBoolean } from "#core/go-boolean.ts";

/** What a text was read as, or what it may be, in words that end "… is not …; allowed: ". */
export type Read<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly allowed: string; readonly code: FaultCode };

/** Why a text is refused: a code of `core/service/problems.ts`. */
export type FaultCode = "InvalidAnnotation" | "ReservedTag";

/** Reads a text as it is written; `undefined` as a value is that it says nothing. */
export type Reader<Value> = (text: string) => Read<Value>;

/** It says so. */
export function is<Value>(value: Value): Read<Value> {
  return { ok: true, value };
}

/** It says something else than it may. */
export function mayBe(allowed: string, code: FaultCode = "InvalidAnnotation"): Read<never> {
  return { ok: false, allowed, code };
}

/** A text without white space around it, of a shape. */
export function text(shape: RegExp, allowed: string): Reader<string> {
  return (written) => {
    const trimmed = written.trim();
    return shape.test(trimmed) ? is(trimmed) : mayBe(allowed);
  };
}

/** What the stock controller's language reads as a boolean. */
export const boolean: Reader<boolean> = (written) => {
  const value = goBoolean(written.trim());
  return value === undefined ? mayBe("true or false") : is(value);
};

/** A whole number from one to another, both included. */
export function wholeNumber(from: number, to: number, unit = ""): Reader<number> {
  return (written) => {
    const value = numberOf(written.trim());
    return value !== undefined && value >= from && value <= to
      ? is(value)
      : mayBe(`a whole number from ${from} to ${to}${unit}`);
  };
}

/** The number that decimal digits stand for, with a sign or without; undefined for whatever else. */
export function numberOf(written: string): number | undefined {
  return /^[+-]?\d{1,15}$/.test(written) ? Number(written) : undefined;
}

/** One of a few words; how they are capitalized does not matter where `anyCase`. */
export function oneOf<const Word extends string>(words: readonly Word[], anyCase?: "anyCase"): Reader<Word> {
  return (written) => {
    const trimmed = written.trim();
    const word = words.find((each) =>
      anyCase === undefined ? each === trimmed : each.toLowerCase() === trimmed.toLowerCase(),
    );
    return word === undefined ? mayBe(listed(words)) : is(word);
  };
}

/** Items between commas, each of a shape and none twice; undefined where there is none. */
export function list(
  shape: RegExp,
  { atMost, allowed }: { readonly atMost: number; readonly allowed: string },
): Reader<readonly string[] | undefined> {
  return (written) => {
    const items = itemsOf(written);
    if (items.length === 0) return is(undefined);
    const isGood = items.length <= atMost && items.every((item) => shape.test(item));
    return isGood && new Set(items).size === items.length ? is(items) : mayBe(allowed);
  };
}

/** What stands between commas, without white space around it and without what is empty. */
export function itemsOf(written: string): readonly string[] {
  return written
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

/**
 * Keys and values as the stock controller splits them: items between commas, trimmed; of an item what stands before the first `=`
 * is the key, and what stands between it and the next is the value, which is not trimmed. Items without a key are left out.
 */
export function pairsOf(written: string): readonly (readonly [key: string, value: string])[] {
  return itemsOf(written).flatMap((item) => {
    const [key = "", value = ""] = item.split("=");
    return key === "" ? [] : [[key, value] as const];
  });
}

function listed(words: readonly string[]): string {
  return words.length === 1 ? `${words[0]}` : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}
