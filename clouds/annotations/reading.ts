import { goBoolean } from "#core/go-boolean.ts";
import type { Problem } from "#core/service/model.ts";
import type { ProblemCode } from "#core/service/problems.ts";

/** What a text was read as, or what it may be, in words that end "… is not …; allowed: ". */
export type Read<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly allowed: string; readonly code: ProblemCode };

/** Reads what an annotation says; `undefined` as a value is that it says nothing. */
export type Reader<Value> = (text: string) => Read<Value>;

/** It says so. */
export function is<Value>(value: Value): Read<Value> {
  return { ok: true, value };
}

/** It says something else than it may; `code` is why that is refused. */
export function mayBe(allowed: string, code: ProblemCode = "InvalidAnnotation"): Read<never> {
  return { ok: false, allowed, code };
}

/** Reads the same with white space around it, too. */
export function trimmed<Value>(reader: Reader<Value>): Reader<Value> {
  return (written) => reader(written.trim());
}

/** A text of a shape. */
export function text(shape: RegExp, allowed: string): Reader<string> {
  return (written) => (shape.test(written) ? is(written) : mayBe(allowed));
}

/** What Go, the language of stock controllers, reads as a boolean. */
export const boolean: Reader<boolean> = (written) => {
  const value = goBoolean(written);
  return value === undefined ? mayBe("true or false") : is(value);
};

/** A whole number from one to another, both included. */
export function wholeNumber(
  from: number,
  to: number,
  { unit = "", numberOf = ofDigits }: NumberReading = {},
): Reader<number> {
  return (written) => {
    const value = numberOf(written);
    return value !== undefined && value >= from && value <= to
      ? is(value)
      : mayBe(`a whole number from ${from} to ${to}${unit}`);
  };
}

/** How numbers are read. */
export interface NumberReading {
  /** What is said behind the bounds, such as ` (seconds)`. */
  readonly unit?: string;
  /** The number that a text stands for; undefined of one that is none. */
  readonly numberOf?: (written: string) => number | undefined;
}

function ofDigits(written: string): number | undefined {
  return /^\d{1,15}$/.test(written) ? Number(written) : undefined;
}

/** One of a few words; how they are capitalized does not matter where `anyCase`. */
export function oneOf<const Word extends string>(words: readonly Word[], anyCase?: "anyCase"): Reader<Word> {
  return (written) => {
    const word = words.find((each) =>
      anyCase === undefined ? each === written : each.toLowerCase() === written.toLowerCase(),
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

/** Annotations in the order of their names, so that the first fault is the same each time. */
export function inOrder(annotations: Readonly<Record<string, string>> = {}): [string, string][] {
  return Object.entries(annotations).toSorted(([one], [other]) => (one < other ? -1 : 1));
}

/** Of more that are not known nothing is said: to look for what each of thousands may mean would take a tenant's word for seconds of work. */
export const MAX_UNKNOWN = 10;

/** That an annotation begins as ours do and is none; `meant` is the whole name of the one that may be meant. */
export function unknownAnnotation(field: string, meant: string | undefined): Problem {
  const said = "an annotation that this controller knows; this one has no effect";
  const allowed = meant === undefined ? said : `${said}: perhaps ${meant}`;
  return { code: "UnknownAnnotation", field, allowed };
}

function listed(words: readonly string[]): string {
  return words.length === 1 ? `${words[0]}` : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}
