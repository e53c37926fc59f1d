import * as z from "zod";
import { AWS_QUOTAS, type Quota, type QuotaName } from "#clouds/aws/quotas.ts";
import { shown } from "#core/shown-text.ts";

/** A quota as AWS says it. */
const GivenQuota = z.strictObject({
  burst: z.int().min(1).max(100_000),
  refillPerSecond: z.number().gt(0).max(100_000),
});

/** Quotas of the account that are not those that AWS gives everybody, by the name of what draws on them. */
export const Quotas = z.record(z.string(), GivenQuota).superRefine((quotas, { addIssue }) => {
  for (const name of Object.keys(quotas)) {
    if (Object.hasOwn(AWS_QUOTAS, name)) continue;
    const message = `there is no quota "${shown(name, 64)}"; there are ${Object.keys(AWS_QUOTAS).join(", ")}`;
    addIssue({ code: "custom", path: [name], message, input: quotas });
  }
});
export type Quotas = z.output<typeof Quotas>;

/** What of a bucket of Elastic Load Balancing is spent, as of those of AWS's own. */
const SPENT_PART = 9 / 10;

/** The quotas of an account, with those that its operator has named. */
export function quotasWith(given: Quotas = {}): Readonly<Record<QuotaName, Quota>> {
  const entries = Object.entries(given) as [QuotaName, z.output<typeof GivenQuota>][];
  return {
    ...AWS_QUOTAS,
    ...Object.fromEntries(entries.map(([name, quota]) => [name, spentOf(name, quota)])),
  };
}

function spentOf(name: QuotaName, { burst, refillPerSecond }: z.output<typeof GivenQuota>): Quota {
  const spent = name.startsWith("elb") ? Math.max(1, Math.floor(burst * SPENT_PART)) : burst;
  const { wholeBurst } = AWS_QUOTAS[name];
  // What only makes sense as a whole has to fit, and is asked piece by piece where it does not.
  return {
    burst: spent,
    refillPerSecond,
    ...(wholeBurst === undefined ? {} : { wholeBurst: Math.min(wholeBurst, spent) }),
  };
}
