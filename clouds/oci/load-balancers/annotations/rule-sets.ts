import * as z from "zod";
import { is, mayBe, type Reader } from "#clouds/annotations/reading.ts";
import { jsonOf } from "#clouds/oci/load-balancers/annotations/json-of.ts";

/** A rule set as the API takes it; what its items may say is the API's matter. */
export const RuleSet = z.object({
  items: z
    .array(z.looseObject({ action: z.string().regex(/^[A-Z_]{1,64}$/) }))
    .min(1)
    .max(20),
});
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
