import * as z from "zod";
import { findNearest } from "#core/nearest.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/** One fault in an input: its path and what is allowed there. */
export interface FieldError {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** The parsed input, or all faults found in it. */
export type CheckedInput<Output> =
  | { readonly kind: "valid"; readonly value: Output }
  | { readonly kind: "faulty"; readonly faults: readonly FieldError[] };

/**
 * Parses an operator's input. A schema's messages are read as what is allowed ("an AWS region such as
 * eu-central-1"), those of refinements as whole sentences. A value is quoted only under keys that never hold
 * a secret.
 */
export function checkWriting<Schema extends z.ZodType>(
  schema: Schema,
  written: unknown,
): CheckedInput<z.output<Schema>> {
  const keysAt = new Map<string, readonly string[]>();
  const parsed = schema.safeParse(written, {
    error(issue) {
      if (issue.code === "unrecognized_keys" && issue.inst instanceof z.ZodObject)
        keysAt.set(formatPathKey(issue.path ?? []), Object.keys(issue.inst.shape));
      return describeAllowed(issue);
    },
  });
  if (parsed.success) return { kind: "valid", value: parsed.data };
  const faults = parsed.error.issues.flatMap((issue): FieldError[] => {
    if (issue.code !== "unrecognized_keys")
      return [{ path: issue.path, message: describeZodIssue(issue, written) }];
    const known = keysAt.get(formatPathKey(issue.path)) ?? [];
    return issue.keys.map((key) => ({ path: [...issue.path, key], message: describeUnknownKey(key, known) }));
  });
  return { kind: "faulty", faults };
}

/** Keys whose values are names, addresses or numbers; any other value may be a secret. */
const SHOWN_KEYS: ReadonlySet<PropertyKey> = new Set(
  "name server provider region vpc kind controllers nodeIPFamilies allow limits policies".split(" "),
);

function describeZodIssue(issue: z.core.$ZodIssue, written: unknown): string {
  if (issue.code === "custom") return issue.message;
  const value = getValueAt(written, issue.path);
  if (value === undefined || value === null) return `is missing; give ${issue.message}`;
  const isShown = issue.path.some((segment) => SHOWN_KEYS.has(segment)) && typeof value !== "object";
  if (!isShown || isLikelySecret(value)) return `give ${issue.message}`;
  const meant = typeof value === "string" ? suggestValue(value, issue) : "";
  return `"${sanitizeText(String(value), 64)}" cannot be used; ${meant}give ${issue.message}`;
}

/** A user name and password in a URL are secrets, too. */
function isLikelySecret(value: unknown): boolean {
  return typeof value === "string" && value.includes("@");
}

function suggestValue(value: string, issue: z.core.$ZodIssue): string {
  const words = listOptions(issue);
  const meant = words.length === 0 ? undefined : findNearest(value, words);
  return meant === undefined ? "" : `did you mean ${meant}? `;
}

function describeUnknownKey(key: string, known: readonly string[]): string {
  const meant = findNearest(key, known);
  if (meant !== undefined) return `unknown key; did you mean ${meant}?`;
  return `unknown key; known here are ${known.join(", ")}`;
}

/** Describes the allowed values for an issue without a message of the schema, to follow "give". */
function describeAllowed(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return getFormatMessage(issue) ?? TYPES[issue.expected] ?? "another kind of value";
    case "invalid_value":
    case "invalid_union":
      return formatOptions(listOptions(issue));
    case "too_small":
      return describeBound(issue.origin, issue.minimum, issue.inclusive === false ? "more than" : "at least");
    case "too_big":
      return describeBound(issue.origin, issue.maximum, issue.inclusive === false ? "less than" : "at most");
    default:
      return "what the reference of the configuration says";
  }
}

const TYPES: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "a mapping of keys to values",
  record: "a mapping of keys to values",
};

/** Returns the schema's format message for a value of the wrong type. */
function getFormatMessage({ inst }: z.core.$ZodRawIssue): string | undefined {
  if (!(inst instanceof z.ZodString)) return undefined;
  for (const check of inst._zod.def.checks ?? []) {
    const { error }: { readonly error?: (() => unknown) | undefined } = check._zod.def as object;
    const words = error?.();
    if (typeof words === "string") return words;
  }
  return undefined;
}

function describeBound(origin: string, limit: number | bigint, than: string): string {
  if (origin === "string")
    return limit === 1 && than === "at least"
      ? "a text that is not empty"
      : `a text of ${than} ${limit} characters`;
  if (origin === "array") return `a list of ${than} ${limit}`;
  return `a number of ${than} ${limit}`;
}

function listOptions(issue: z.core.$ZodIssue | z.core.$ZodRawIssue): readonly string[] {
  const options: unknown = issue.code === "invalid_value" ? issue.values : Reflect.get(issue, "options");
  return Array.isArray(options) ? options.map(String) : [];
}

function formatOptions(options: readonly string[]): string {
  return options.length === 1 ? `${options[0]}` : `one of ${options.join(", ")}`;
}

function getValueAt(written: unknown, path: readonly PropertyKey[]): unknown {
  let value = written;
  for (const segment of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = Reflect.get(value, segment);
  }
  return value;
}

function formatPathKey(path: readonly PropertyKey[]): string {
  return JSON.stringify(path);
}
