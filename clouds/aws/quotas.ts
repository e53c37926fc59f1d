/** A token bucket's size and refill. */
export interface Quota {
  readonly burst: number;
  readonly refillPerSecond: number;
  /** Of the burst so many, however small the share: what only makes sense as a whole fits, and nothing of it is asked in vain. */
  readonly wholeBurst?: number;
}

/** Operations of EC2 that change nothing, by EC2's own names; each has a bucket of its own. */
export type Ec2Read =
  | "DescribeInstances"
  | "DescribeNetworkInterfaces"
  | "DescribeAvailabilityZones"
  | "DescribeInstanceTopology"
  | "DescribeSubnets"
  | "DescribeRouteTables"
  | "DescribeSecurityGroups"
  | "DescribeAddresses";

/** Operations of EC2 that change something. */
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

/** An operation that draws on a quota: EC2's by its own name, those of Elastic Load Balancing with its version before it, as both have most names. */
export type Operation = Ec2Read | Ec2Write | `elb:${string}` | `elbv2:${string}`;

/** Quotas of which an operation draws on one. */
export type QuotaName =
  | Ec2Read
  | "CreateTags"
  | "DeleteTags"
  | "ec2 mutating"
  | "ec2 resource-intensive"
  | `${"elb" | "elbv2"} ${"describing" | "registering" | "changing"}`;

const EC2_DESCRIBING: Quota = { burst: 100, refillPerSecond: 20 };
/**
 * "Request throttling for the Elastic Load Balancing API": 40 and 10; the two versions have buckets of their own. A tenth of each
 * bucket stays in it, as what is sent one after the other may arrive together: one throttle costs more than that gains.
 */
const ELB_DESCRIBING: Quota = { burst: 36, refillPerSecond: 10, wholeBurst: 20 };
/** AWS does not say what these are; AWS's own load balancer controller keeps to 20 and 4, and to 40 and 10. */
const ELB_REGISTERING: Quota = { burst: 18, refillPerSecond: 4 };
const ELB_CHANGING: Quota = { burst: 36, refillPerSecond: 10 };

/** What AWS lets an account do in a region, from "Request throttling for the Amazon EC2 API" and the same for Elastic Load Balancing. */
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

/** The quota that an operation draws on. */
export function quotaOf(operation: Operation): QuotaName {
  const [version, name] = operation.split(":");
  if (version !== "elb" && version !== "elbv2") return ec2QuotaOf(operation as Ec2Read | Ec2Write);
  if (/^(Deregister|Register)/.test(name ?? "")) return `${version} registering`;
  return /^Describe/.test(name ?? "") ? `${version} describing` : `${version} changing`;
}

function ec2QuotaOf(operation: Ec2Read | Ec2Write): QuotaName {
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
