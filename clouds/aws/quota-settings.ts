import * as z from "zod";
import { AWS_QUOTAS, type Quota, type QuotaName } from "#clouds/aws/quotas.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/** A quota in AWS's terms. */
const QuotaSetting = z.strictObject({
  burst: z.int().min(1).max(100_000),
  refillPerSecond: z.number().gt(0).max(100_000),
});

/** Account quotas that differ from AWS's defaults, by the name of the operation that spends them. */
export const Quotas = z.record(z.string(), QuotaSetting).superRefine((quotas, { addIssue }) => {
  for (const name of Object.keys(quotas)) {
    if (Object.hasOwn(AWS_QUOTAS, name)) continue;
    const message = `there is no quota "${sanitizeText(name, 64)}"; there are ${Object.keys(AWS_QUOTAS).join(", ")}`;
    addIssue({ code: "custom", path: [name], message, input: quotas });
  }
});
export type Quotas = z.output<typeof Quotas>;

/** The part of an Elastic Load Balancing bucket that is spent, as with AWS's defaults. */
const SPENT_PART = 9 / 10;

/** Returns the quotas of an account, with the operator's changes. */
export function buildQuotas(settings: Quotas = {}): Readonly<Record<QuotaName, Quota>> {
  const entries = Object.entries(settings) as [QuotaName, z.output<typeof QuotaSetting>][];
  return {
    ...AWS_QUOTAS,
    ...Object.fromEntries(entries.map(([name, quota]) => [name, toSpendableQuota(name, quota)])),
  };
}

function toSpendableQuota(name: QuotaName, { burst, refillPerSecond }: z.output<typeof QuotaSetting>): Quota {
  const spendableBurst = name.startsWith("elb") ? Math.max(1, Math.floor(burst * SPENT_PART)) : burst;
  const { wholeBurst } = AWS_QUOTAS[name];
  // A group of requests that makes sense only as a whole must fit; if not, it is sent request by request.
  return {
    burst: spendableBurst,
    refillPerSecond,
    ...(wholeBurst === undefined ? {} : { wholeBurst: Math.min(wholeBurst, spendableBurst) }),
  };
}
