import * as z from "zod";
import type { Parameters } from "./parameters.ts";

/** A token bucket: the calls at once, and the calls a second from then on. */
export const Quota = z.strictObject({
  capacity: z.number().positive(),
  refillPerSecond: z.number().nonnegative(),
});
export type Quota = z.output<typeof Quota>;

/** The owner of a bucket: an action, or its calls that list everything. */
export const QuotaName = z.enum([
  "DescribeInstances",
  "DescribeInstances.unfiltered",
  "DescribeNetworkInterfaces",
  "DescribeNetworkInterfaces.unfiltered",
  "DescribeAvailabilityZones",
  "DescribeInstanceTopology",
]);
export type QuotaName = z.output<typeof QuotaName>;

/** Deviations from EC2's own figures, or no quotas at all. */
export const Quotas = z.union([z.literal("off"), z.partialRecord(QuotaName, Quota)]);
export type Quotas = z.output<typeof Quotas>;

/** EC2's figures for an account in a region, from its user guide's page on request throttling. */
export const EC2_QUOTAS: Readonly<Record<QuotaName, Quota>> = {
  DescribeInstances: { capacity: 100, refillPerSecond: 20 },
  "DescribeInstances.unfiltered": { capacity: 50, refillPerSecond: 10 },
  DescribeNetworkInterfaces: { capacity: 100, refillPerSecond: 20 },
  "DescribeNetworkInterfaces.unfiltered": { capacity: 50, refillPerSecond: 10 },
  DescribeAvailabilityZones: { capacity: 100, refillPerSecond: 20 },
  DescribeInstanceTopology: { capacity: 1, refillPerSecond: 1 },
};

/** The buckets of all accounts. */
export interface QuotaMeter {
  /** Takes a token for the call; returns false without one. Actions without a quota always pass. */
  take(account: string, action: string, parameters: Parameters, quotas: Quotas, now: number): boolean;
}

interface Bucket {
  tokens: number;
  /** Milliseconds since the epoch. */
  filledAt: number;
}

/** Creates full buckets. */
export function createQuotaMeter(): QuotaMeter {
  const buckets = new Map<string, Bucket>();
  return {
    take(account, action, parameters, quotas, now) {
      const name = findQuotaName(action, parameters);
      if (quotas === "off" || name === undefined) return true;
      const { capacity, refillPerSecond } = quotas[name] ?? EC2_QUOTAS[name];
      const key = `${account}/${name}`;
      const bucket = buckets.get(key) ?? { tokens: capacity, filledAt: now };
      const seconds = Math.max(0, now - bucket.filledAt) / 1000;
      const tokens = Math.min(capacity, bucket.tokens + seconds * refillPerSecond);
      const taken = tokens >= 1;
      buckets.set(key, { tokens: taken ? tokens - 1 : tokens, filledAt: now });
      return taken;
    },
  };
}

/** Calls with neither filters nor pages have a smaller bucket; IDs alone are not a filter in EC2's terms. */
function findQuotaName(action: string, parameters: Parameters): QuotaName | undefined {
  const known = QuotaName.safeParse(action);
  if (!known.success) return undefined;
  const isNarrow = parameters.structures("Filter").length > 0 || parameters.text("MaxResults") !== undefined;
  const unfiltered = QuotaName.safeParse(`${action}.unfiltered`);
  return unfiltered.success && !isNarrow ? unfiltered.data : known.data;
}
