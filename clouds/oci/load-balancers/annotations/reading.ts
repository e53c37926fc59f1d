import { goBoolean } from "#core/go-boolean.ts";

/** What a text was read as, or what it may be, in words that end "… is not …; allowed: ". */
export type Read<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly allowed: string; readonly code: FaultCode };

/** Why a text is refused: a code of `core/service/problems.ts`. */
export type FaultCode = "InvalidAnnotation" | "ReservedTag" | "NotAllowed" | "SecretsNotRead";

/** Reads a text that is not empty, without white space around it; `undefined` as a value is that it says nothing. */
export type Reader<Value> = (text: string) => Read<Value>;

/** It says so. */
export function is<Value>(value: Value): Read<Value> {
  return { ok: true, value };
}

/** It says something else than it may. */
export function mayBe(allowed: string, code: FaultCode = "InvalidAnnotation"): Read<never> {
  return { ok: false, allowed, code };
}

/** A text of a shape. */
export function text(shape: RegExp, allowed: string): Reader<string> {
  return (written) => (shape.test(written) ? is(written) : mayBe(allowed));
}

/** What the stock controller's language reads as a boolean. */
export const boolean: Reader<boolean> = (written) => {
  const value = goBoolean(written);
  return value === undefined ? mayBe("true or false") : is(value);
};

/** A whole number from one to another, both included. */
export function wholeNumber(from: number, to: number, unit = ""): Reader<number> {
  return (written) => {
    const value = /^\d{1,15}$/.test(written) ? Number(written) : Number.NaN;
    return value >= from && value <= to ? is(value) : mayBe(`a whole number from ${from} to ${to}${unit}`);
  };
}

/** One of a few words, however they are capitalized. */
export function oneOf<const Word extends string>(words: readonly Word[]): Reader<Word> {
  return (written) => {
    const word = words.find((each) => each.toLowerCase() === written.toLowerCase());
    return word === undefined ? mayBe(`${words.slice(0, -1).join(", ")} or ${words.at(-1)}`) : is(word);
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

/** Nothing longer is read as JSON: what a tenant writes costs little. */
const MAX_JSON_CHARACTERS = 32_768;

/** The value that a text is as JSON; undefined where it is none. */
export function jsonOf(written: string): unknown {
  if (written.length > MAX_JSON_CHARACTERS) return undefined;
  try {
    return JSON.parse(written);
  } catch {
    return undefined;
  }
}
