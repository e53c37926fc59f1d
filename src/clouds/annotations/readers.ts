import { parseGoBoolean } from "#core/flags.ts";
import type { IssueCode } from "#core/service/issues.ts";
import type { Issue } from "#core/service/model.ts";

/** The value of a text, or the allowed values, worded to end "… is not …; allowed: ". */
export type ReadResult<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly allowed: string; readonly code: IssueCode };

/** Reads an annotation; the value `undefined` means that it sets nothing. */
export type Reader<Value> = (text: string) => ReadResult<Value>;

/** Returns a valid result. */
export function accept<Value>(value: Value): ReadResult<Value> {
  return { ok: true, value };
}

/** Returns a rejected result; `code` is the reason. */
export function reject(allowed: string, code: IssueCode = "InvalidAnnotation"): ReadResult<never> {
  return { ok: false, allowed, code };
}

/** Trims white space before reading. */
export function readTrimmed<Value>(reader: Reader<Value>): Reader<Value> {
  return (written) => reader(written.trim());
}

/** Reads a text of a given shape. */
export function readText(shape: RegExp, allowed: string): Reader<string> {
  return (written) => (shape.test(written) ? accept(written) : reject(allowed));
}

/** Reads a boolean as Go does, the language of stock controllers. */
export const readBoolean: Reader<boolean> = (written) => {
  const value = parseGoBoolean(written);
  return value === undefined ? reject("true or false") : accept(value);
};

/** Reads a whole number in a range, both ends included. */
export function readInteger(
  from: number,
  to: number,
  { unit = "", parseNumber = parseDigits }: NumberReading = {},
): Reader<number> {
  return (written) => {
    const value = parseNumber(written);
    return value !== undefined && value >= from && value <= to
      ? accept(value)
      : reject(`a whole number from ${from} to ${to}${unit}`);
  };
}

/** How numbers are read. */
export interface NumberReading {
  /** Text after the bounds, such as ` (seconds)`. */
  readonly unit?: string;
  /** Parses a number; undefined for any other text. */
  readonly parseNumber?: (written: string) => number | undefined;
}

function parseDigits(written: string): number | undefined {
  return /^\d{1,15}$/.test(written) ? Number(written) : undefined;
}

/** Reads one of a few words; capitals are ignored if `anyCase`. */
export function readEnum<const Word extends string>(
  words: readonly Word[],
  anyCase?: "anyCase",
): Reader<Word> {
  return (written) => {
    const word = words.find((each) =>
      anyCase === undefined ? each === written : each.toLowerCase() === written.toLowerCase(),
    );
    return word === undefined ? reject(formatWords(words)) : accept(word);
  };
}

/** Reads distinct comma-separated items of a given shape; undefined if the list is empty. */
export function readList(
  shape: RegExp,
  { atMost, allowed }: { readonly atMost: number; readonly allowed: string },
): Reader<readonly string[] | undefined> {
  return (written) => {
    const items = splitItems(written);
    if (items.length === 0) return accept(undefined);
    const isValid = items.length <= atMost && items.every((item) => shape.test(item));
    return isValid && new Set(items).size === items.length ? accept(items) : reject(allowed);
  };
}

/** Splits at commas, trims white space and drops empty items. */
export function splitItems(written: string): readonly string[] {
  return written
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

/** Sorts annotations by name, so that the first reported fault is always the same. */
export function sortAnnotations(annotations: Readonly<Record<string, string>> = {}): [string, string][] {
  return Object.entries(annotations).toSorted(([one], [other]) => (one < other ? -1 : 1));
}

/**
 * Maximum reported unknown annotations: a tenant could make the search for similar names take seconds with
 * thousands of them.
 */
export const MAX_UNKNOWN = 10;

/** Builds the issue of an unknown annotation with our prefix; `meant` is the full name of a similar one. */
export function buildUnknownAnnotationIssue(field: string, meant: string | undefined): Issue {
  const said = "an annotation that this controller knows; this one has no effect";
  const allowed = meant === undefined ? said : `${said}: perhaps ${meant}`;
  return { code: "UnknownAnnotation", field, allowed };
}

function formatWords(words: readonly string[]): string {
  return words.length === 1 ? `${words[0]}` : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}
