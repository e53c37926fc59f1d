import * as z from "zod";
import { nearest } from "#core/nearest.ts";
import { shown } from "#core/shown-text.ts";

/** One thing that is wrong with what somebody wrote: where in it, and in words what is allowed there. */
export interface WrittenFault {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** What a schema makes of something that was written, or all that is wrong with it. */
export type CheckedWriting<Output> =
  | { readonly kind: "valid"; readonly value: Output }
  | { readonly kind: "faulty"; readonly faults: readonly WrittenFault[] };

/**
 * Parses what an operator wrote. A schema's own messages are taken as what is allowed ("an AWS region such as eu-central-1"), those
 * of refinements as whole sentences. A value is quoted only under keys that never hold a secret.
 */
export function checkWriting<Schema extends z.ZodType>(
  schema: Schema,
  written: unknown,
): CheckedWriting<z.output<Schema>> {
  const keysAt = new Map<string, readonly string[]>();
  const parsed = schema.safeParse(written, {
    error(issue) {
      if (issue.code === "unrecognized_keys" && issue.inst instanceof z.ZodObject)
        keysAt.set(placeOf(issue.path ?? []), Object.keys(issue.inst.shape));
      return allowedBy(issue);
    },
  });
  if (parsed.success) return { kind: "valid", value: parsed.data };
  const faults = parsed.error.issues.flatMap((issue): WrittenFault[] => {
    if (issue.code !== "unrecognized_keys")
      return [{ path: issue.path, message: sentenceOf(issue, written) }];
    const known = keysAt.get(placeOf(issue.path)) ?? [];
    return issue.keys.map((key) => ({ path: [...issue.path, key], message: unknownKey(key, known) }));
  });
  return { kind: "faulty", faults };
}

/** Keys whose values are names, addresses and numbers; whatever stands under any other may be a secret. */
const SHOWN_KEYS: ReadonlySet<PropertyKey> = new Set(
  "name server provider region vpc kind controllers nodeIPFamilies allow limits policies".split(" "),
);

function sentenceOf(issue: z.core.$ZodIssue, written: unknown): string {
  if (issue.code === "custom") return issue.message;
  const value = valueAt(written, issue.path);
  if (value === undefined || value === null) return `is missing; give ${issue.message}`;
  const isShown = issue.path.some((segment) => SHOWN_KEYS.has(segment)) && typeof value !== "object";
  if (!isShown || looksSecret(value)) return `give ${issue.message}`;
  const meant = typeof value === "string" ? meantBy(value, issue) : "";
  return `"${shown(String(value), 64)}" cannot be used; ${meant}give ${issue.message}`;
}

/** A user name and password in a URL are as good as any other secret. */
function looksSecret(value: unknown): boolean {
  return typeof value === "string" && value.includes("@");
}

function meantBy(value: string, issue: z.core.$ZodIssue): string {
  const words = optionsOf(issue);
  const meant = words.length === 0 ? undefined : nearest(value, words);
  return meant === undefined ? "" : `did you mean ${meant}? `;
}

function unknownKey(key: string, known: readonly string[]): string {
  const meant = nearest(key, known);
  if (meant !== undefined) return `unknown key; did you mean ${meant}?`;
  return `unknown key; known here are ${known.join(", ")}`;
}

/** What is allowed in the place of an issue for which the schema has no words, as it follows "give". */
function allowedBy(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return ownWordsOf(issue) ?? TYPES[issue.expected] ?? "another kind of value";
    case "invalid_value":
    case "invalid_union":
      return oneOf(optionsOf(issue));
    case "too_small":
      return bound(issue.origin, issue.minimum, issue.inclusive === false ? "more than" : "at least");
    case "too_big":
      return bound(issue.origin, issue.maximum, issue.inclusive === false ? "less than" : "at most");
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

/** What the schema's own format says, where a value of another type stands in its place. */
function ownWordsOf({ inst }: z.core.$ZodRawIssue): string | undefined {
  if (!(inst instanceof z.ZodString)) return undefined;
  for (const check of inst._zod.def.checks ?? []) {
    const { error }: { readonly error?: (() => unknown) | undefined } = check._zod.def as object;
    const words = error?.();
    if (typeof words === "string") return words;
  }
  return undefined;
}

function bound(origin: string, limit: number | bigint, than: string): string {
  if (origin === "string")
    return limit === 1 && than === "at least"
      ? "a text that is not empty"
      : `a text of ${than} ${limit} characters`;
  if (origin === "array") return `a list of ${than} ${limit}`;
  return `a number of ${than} ${limit}`;
}

function optionsOf(issue: z.core.$ZodIssue | z.core.$ZodRawIssue): readonly string[] {
  const options: unknown = issue.code === "invalid_value" ? issue.values : Reflect.get(issue, "options");
  return Array.isArray(options) ? options.map(String) : [];
}

function oneOf(options: readonly string[]): string {
  return options.length === 1 ? `${options[0]}` : `one of ${options.join(", ")}`;
}

function valueAt(written: unknown, path: readonly PropertyKey[]): unknown {
  let value = written;
  for (const segment of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = Reflect.get(value, segment);
  }
  return value;
}

function placeOf(path: readonly PropertyKey[]): string {
  return JSON.stringify(path);
}
