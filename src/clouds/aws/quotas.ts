import * as z from "zod";
import { sanitizeText } from "#core/sanitize-text.ts";

/** A token bucket's size and refill. */
export interface Quota {
  readonly burst: number;
  readonly refillPerSecond: number;
  /**
   * The part of the burst that is available however small the share is. Groups of requests that make sense
   * only as a whole then fit.
   */
  readonly wholeBurst?: number;
}

/** Read operations of EC2, by EC2's own names; each has its own bucket. */
export type Ec2Read =
  | "DescribeInstances"
  | "DescribeNetworkInterfaces"
  | "DescribeAvailabilityZones"
  | "DescribeInstanceTopology"
  | "DescribeSubnets"
  | "DescribeRouteTables"
  | "DescribeSecurityGroups"
  | "DescribeAddresses";

/** Write operations of EC2. */
export type Ec2Write =
  | "CreateSecurityGroup"
  | "DeleteSecurityGroup"
  | "AuthorizeSecurityGroupIngress"
  | "RevokeSecurityGroupIngress"
  | "UpdateSecurityGroupRuleDescriptionsIngress"
  | "CreateTags"
  | "DeleteTags"
  | "CreateRoute"
  | "ReplaceRoute"
  | "DeleteRoute"
  | "ModifyInstanceAttribute"
  | "ModifyNetworkInterfaceAttribute";

/**
 * An operation that spends a quota. EC2's have their own names; those of Elastic Load Balancing have the
 * version as a prefix, because both versions share most names.
 */
export type Operation = Ec2Read | Ec2Write | `elb:${string}` | `elbv2:${string}`;

/** Quotas; an operation spends one of them. */
export type QuotaName =
  | Ec2Read
  | "CreateTags"
  | "DeleteTags"
  | "ec2 mutating"
  | "ec2 resource-intensive"
  | `${"elb" | "elbv2"} ${"describing" | "registering" | "changing"}`;

const EC2_DESCRIBING: Quota = { burst: 100, refillPerSecond: 20 };

/**
 * "Request throttling for the Elastic Load Balancing API": 40 and 10, in separate buckets for the two
 * versions. A tenth of each bucket stays unused, because requests sent in sequence may arrive together. One
 * throttle costs more than that tenth gains.
 */
const ELB_DESCRIBING: Quota = { burst: 36, refillPerSecond: 10, wholeBurst: 20 };

/** AWS does not publish these; AWS's own load balancer controller uses 20 and 4, and 40 and 10. */
const ELB_REGISTERING: Quota = { burst: 18, refillPerSecond: 4 };

const ELB_CHANGING: Quota = { burst: 36, refillPerSecond: 10 };

/**
 * AWS's quotas per account and region, from "Request throttling for the Amazon EC2 API" and its page for
 * Elastic Load Balancing.
 */
export const AWS_QUOTAS: Readonly<Record<QuotaName, Quota>> = {
  DescribeInstances: EC2_DESCRIBING,
  DescribeNetworkInterfaces: EC2_DESCRIBING,
  DescribeAvailabilityZones: EC2_DESCRIBING,
  DescribeInstanceTopology: { burst: 1, refillPerSecond: 1 },
  DescribeSubnets: EC2_DESCRIBING,
  DescribeRouteTables: EC2_DESCRIBING,
  DescribeSecurityGroups: EC2_DESCRIBING,
  DescribeAddresses: EC2_DESCRIBING,
  CreateTags: { burst: 100, refillPerSecond: 10 },
  DeleteTags: { burst: 100, refillPerSecond: 10 },
  "ec2 mutating": { burst: 50, refillPerSecond: 5 },
  "ec2 resource-intensive": { burst: 50, refillPerSecond: 5 },
  "elb describing": ELB_DESCRIBING,
  "elb registering": ELB_REGISTERING,
  "elb changing": ELB_CHANGING,
  "elbv2 describing": ELB_DESCRIBING,
  "elbv2 registering": ELB_REGISTERING,
  "elbv2 changing": ELB_CHANGING,
};

/** Returns the quota that an operation spends. */
export function getQuotaName(operation: Operation): QuotaName {
  const [version, name] = operation.split(":");
  if (version !== "elb" && version !== "elbv2") return getEc2QuotaName(operation as Ec2Read | Ec2Write);
  if (/^(Deregister|Register)/.test(name ?? "")) return `${version} registering`;
  return /^Describe/.test(name ?? "") ? `${version} describing` : `${version} changing`;
}

function getEc2QuotaName(operation: Ec2Read | Ec2Write): QuotaName {
  switch (operation) {
    case "AuthorizeSecurityGroupIngress":
    case "RevokeSecurityGroupIngress":
    case "UpdateSecurityGroupRuleDescriptionsIngress":
      return "ec2 resource-intensive";
    case "CreateSecurityGroup":
    case "DeleteSecurityGroup":
    case "CreateRoute":
    case "ReplaceRoute":
    case "DeleteRoute":
    case "ModifyInstanceAttribute":
    case "ModifyNetworkInterfaceAttribute":
      return "ec2 mutating";
    default:
      return operation;
  }
}

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
