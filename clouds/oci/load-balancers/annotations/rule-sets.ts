import * as z from "zod";
import { is, mayBe, type Reader } from "#clouds/annotations/reading.ts";
import { jsonOf } from "#clouds/oci/load-balancers/annotations/json-of.ts";

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
 * What is done with HTTP, in the API's words. Nothing else is taken: what the API would leave out of what it keeps would be sent to it
 * again and again.
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

/** A rule set as the API takes it; what values its items may have is the API's matter. */
const RuleSet = z.strictObject({ items: z.array(Item).min(1).max(20) });
export type RuleSet = z.output<typeof RuleSet>;

const RuleSets = z
  .record(z.string().regex(/^[A-Za-z0-9_]{1,32}$/), RuleSet)
  .refine((sets) => Object.keys(sets).length <= MAX_SETS);

const MAX_SETS = 20;

/** Reads `oci-load-balancer-rule-sets`: JSON of rule sets by name. */
export const ruleSets: Reader<Readonly<Record<string, RuleSet>>> = (written) => {
  const sets = RuleSets.safeParse(jsonOf(written)).data;
  return sets === undefined
    ? mayBe(
        `JSON of at most ${MAX_SETS} rule sets by name, such as {"headers":{"items":[{"action":"ADD_HTTP_REQUEST_HEADER","header":"X","value":"y"}]}}`,
      )
    : is(sets);
};

/** What the API says of an item where the item itself says nothing. */
const DEFAULTS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ["responseCode", 302],
  ["statusCode", 405],
  ["areInvalidCharactersAllowed", false],
  ["httpLargeHeaderSizeInKB", 8],
  ...["protocol", "host", "port", "path", "query"].map((part) => [part, `{${part}}`] as const),
]);

/** Items of a rule set without what says nothing, by which two of them are compared. */
export function saidByItems(items: unknown): unknown {
  return JSON.parse(JSON.stringify(items ?? []), (key, value: unknown) => {
    if (value === null || (DEFAULTS.has(key) && DEFAULTS.get(key) === value)) return undefined;
    return key === "redirectUri" && Object.keys(Object(value)).length === 0 ? undefined : value;
  });
}
