import * as z from "zod";
import { accept, type Reader, reject } from "#clouds/annotations/readers.ts";
import { parseJson } from "#core/parse-json.ts";

const Text = z.string().max(4_096);

const Conditions = z
  .array(z.strictObject({ attributeName: Text, attributeValue: Text, operator: Text.optional() }))
  .min(1)
  .max(20);

const Uri = z.strictObject({
  ...{ protocol: Text.optional(), host: Text.optional(), path: Text.optional(), query: Text.optional() },
  port: z.union([Text, z.int()]).optional(),
});

/**
 * HTTP rules in the API's terms. Unknown fields are rejected: the API would drop them, and each round would
 * send them again.
 */
const Item = z.discriminatedUnion("action", [
  z.strictObject({
    action: z.enum(["ADD_HTTP_REQUEST_HEADER", "ADD_HTTP_RESPONSE_HEADER"]),
    ...{ header: Text, value: Text },
  }),
  z.strictObject({
    action: z.enum(["EXTEND_HTTP_REQUEST_HEADER_VALUE", "EXTEND_HTTP_RESPONSE_HEADER_VALUE"]),
    ...{ header: Text, prefix: Text.optional(), suffix: Text.optional() },
  }),
  z.strictObject({
    action: z.enum(["REMOVE_HTTP_REQUEST_HEADER", "REMOVE_HTTP_RESPONSE_HEADER"]),
    header: Text,
  }),
  z.strictObject({ action: z.literal("ALLOW"), conditions: Conditions, description: Text.optional() }),
  z.strictObject({
    action: z.literal("CONTROL_ACCESS_USING_HTTP_METHODS"),
    allowedMethods: z.array(Text).min(1).max(50),
    statusCode: z.int().optional(),
  }),
  z.strictObject({
    action: z.literal("REDIRECT"),
    ...{ conditions: Conditions, redirectUri: Uri.optional(), responseCode: z.int().optional() },
  }),
  z.strictObject({
    action: z.literal("HTTP_HEADER"),
    ...{ areInvalidCharactersAllowed: z.boolean().optional(), httpLargeHeaderSizeInKB: z.int().optional() },
  }),
]);

/** A rule set in the API's format; the API checks the values of its items. */
const RuleSet = z.strictObject({ items: z.array(Item).min(1).max(20) });
export type RuleSet = z.output<typeof RuleSet>;

const RuleSets = z
  .record(z.string().regex(/^[A-Za-z0-9_]{1,32}$/), RuleSet)
  .refine((sets) => Object.keys(sets).length <= MAX_SETS);

const MAX_SETS = 20;

/** Maximum length of JSON, so that a tenant's text is cheap to read. */
const MAX_JSON_CHARACTERS = 32_768;

/** Reads `oci-load-balancer-rule-sets`: JSON with rule sets by name. */
export const readRuleSets: Reader<Readonly<Record<string, RuleSet>>> = (written) => {
  const sets = RuleSets.safeParse(parseAnnotationJson(written)).data;
  return sets === undefined
    ? reject(
        `JSON of at most ${MAX_SETS} rule sets by name, such as {"headers":{"items":[{"action":"ADD_HTTP_REQUEST_HEADER","header":"X","value":"y"}]}}`,
      )
    : accept(sets);
};

/** The API's defaults for missing fields of an item. */
const DEFAULTS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ["responseCode", 302],
  ["statusCode", 405],
  ["areInvalidCharactersAllowed", false],
  ["httpLargeHeaderSizeInKB", 8],
  ...["protocol", "host", "port", "path", "query"].map((part) => [part, `{${part}}`] as const),
]);

/** Normalizes a rule set's items for comparison by removing empty fields. */
export function normalizeItems(items: unknown): unknown {
  return JSON.parse(JSON.stringify(items ?? []), (key, value: unknown) => {
    if (value === null || (DEFAULTS.has(key) && DEFAULTS.get(key) === value)) return undefined;
    return key === "redirectUri" && Object.keys(Object(value)).length === 0 ? undefined : value;
  });
}

/** Parses an annotation's JSON; undefined if it is invalid or too long. */
export function parseAnnotationJson(written: string): unknown {
  return written.length > MAX_JSON_CHARACTERS ? undefined : parseJson(written);
}
