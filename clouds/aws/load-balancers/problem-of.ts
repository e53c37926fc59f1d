import type { IpPermission } from "@aws-sdk/client-ec2";
import { isCodeIn, QUOTA } from "#clouds/aws/errors.ts";
import { annotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import type { AnnotationSuffix } from "#clouds/aws/load-balancers/annotations/table.ts";
import { rulesOf } from "#clouds/aws/load-balancers/vpc/rules.ts";
import type { LoadBalancerAction, Problem } from "#core/service/model.ts";
import type { ProblemCode } from "#core/service/problems.ts";
import type { Service } from "#core/service/service.ts";

interface Meaning {
  readonly code: ProblemCode;
  /** The annotation that names what AWS does not take. */
  readonly says?: AnnotationSuffix;
  /** Only of these actions: of others it means something else, or passes. */
  readonly of?: RegExp;
}

/**
 * What AWS's refusals mean that no time heals, by AWS's own code without `Exception` at its end. What is not listed is
 * observed anew, or told as a load balancer that cannot be made.
 */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  CertificateNotFound: { code: "CertificateNotUsable", says: "ssl-cert" },
  UnsupportedCertificate: { code: "CertificateNotUsable", says: "ssl-cert" },
  SSLPolicyNotFound: { code: "NotAllowed", says: "ssl-negotiation-policy" },
  PolicyTypeNotFound: { code: "NotAllowed", says: "ssl-negotiation-policy" },
  SubnetNotFound: { code: "SubnetNotFound", says: "subnets" },
  InvalidSubnet: { code: "SubnetNotFound", says: "subnets" },
  AvailabilityZoneNotSupported: { code: "NoEligibleSubnet" },
  AllocationIdNotFound: { code: "ElasticIPsNotUsable", says: "eip-allocations" },
  "InvalidAllocationID.NotFound": { code: "ElasticIPsNotUsable", says: "eip-allocations" },
  // While a new group has not come to all of AWS, this is said of it too: it passes, unless somebody has named it.
  InvalidSecurityGroup: { code: "SecurityGroupNotAllowed", says: "security-groups" },
  // Buckets alone are named in attributes by something outside of the load balancer.
  InvalidConfigurationRequest: {
    code: "BucketNotUsable",
    says: "access-log-s3-bucket-name",
    of: /ModifyLoadBalancerAttributes$/,
  },
  RulesPerSecurityGroupLimitExceeded: { code: "TooManyRules" },
  TooManyTargets: { code: "TooManyTargets" },
  OperationNotPermitted: { code: "DeletionProtected", of: /^elbv2:DeleteLoadBalancer$/ },
  TooManyListeners: { code: "TooManyPorts" },
};

/** Returns what it means that AWS refused an action; undefined where it is no matter of somebody's mending something. */
export function problemOf(
  { action, parameters }: LoadBalancerAction,
  { reason: given = "" }: { readonly reason: string | undefined },
  { metadata: { annotations } }: Service,
): Problem | undefined {
  const reason = given.replace(/Exception$/, "");
  const meaning = Object.hasOwn(MEANINGS, reason) ? MEANINGS[reason] : undefined;
  if (meaning === undefined) return isCodeIn(QUOTA, reason) ? { code: "QuotaExceeded" } : undefined;
  const { code, says, of } = meaning;
  if (of?.test(action) === false) return undefined;
  if (code === "TooManyRules" && areNodeRules(parameters)) return { code: "TooManyNodeRules" };
  if (says === undefined) return { code };
  const field = annotationName(says);
  const value = annotations?.[field];
  // Nobody has named one: it is ours, and is to be seen soon.
  return value === undefined ? undefined : { code, field, value };
}

/**
 * Whether rules are for the security group of nodes, which holds those of all Services: they let a group in, or say by their description
 * which load balancer they are for. Rules of a load balancer's own group are for networks, and say nothing.
 */
function areNodeRules({ IpPermissions: permissions }: LoadBalancerAction["parameters"]): boolean {
  if (!Array.isArray(permissions)) return false;
  return rulesOf(permissions as readonly IpPermission[]).some(
    ({ from, description }) => from === "group" || description !== undefined,
  );
}
