import type { IpPermission } from "@aws-sdk/client-ec2";
import { formatAnnotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import type { AnnotationSuffix } from "#clouds/aws/load-balancers/annotations/table.ts";
import { parsePermissions } from "#clouds/aws/load-balancers/vpc/rules.ts";
import type { IssueCode } from "#core/service/issues.ts";
import type { Issue, LoadBalancerAction } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import { isCodeIn, QUOTA } from "#platforms/aws/error-codes.ts";

interface ErrorMeaning {
  readonly code: IssueCode;
  /** The annotation that names what AWS rejects. */
  readonly annotation?: AnnotationSuffix;
  /** Only for these actions; for others the code means something else, or is temporary. */
  readonly actions?: RegExp;
}

/**
 * The meaning of AWS's permanent rejections, by AWS's own code without the suffix `Exception`. Other codes
 * lead to a new observation, or to the report that the load balancer cannot be created.
 */
const MEANINGS: Readonly<Record<string, ErrorMeaning>> = {
  CertificateNotFound: { code: "CertificateNotUsable", annotation: "ssl-cert" },
  UnsupportedCertificate: { code: "CertificateNotUsable", annotation: "ssl-cert" },
  SSLPolicyNotFound: { code: "NotAllowed", annotation: "ssl-negotiation-policy" },
  PolicyTypeNotFound: { code: "NotAllowed", annotation: "ssl-negotiation-policy" },
  SubnetNotFound: { code: "SubnetNotFound", annotation: "subnets" },
  InvalidSubnet: { code: "SubnetNotFound", annotation: "subnets" },
  AvailabilityZoneNotSupported: { code: "NoEligibleSubnet" },
  AllocationIdNotFound: { code: "ElasticIPsNotUsable", annotation: "eip-allocations" },
  "InvalidAllocationID.NotFound": { code: "ElasticIPsNotUsable", annotation: "eip-allocations" },
  // AWS also returns this for a new group until all of AWS knows it: temporary, unless an annotation names
  // the group.
  InvalidSecurityGroup: { code: "SecurityGroupNotAllowed", annotation: "security-groups" },
  // Buckets are the only outside resources in attributes.
  InvalidConfigurationRequest: {
    code: "BucketNotUsable",
    annotation: "access-log-s3-bucket-name",
    actions: /ModifyLoadBalancerAttributes$/,
  },
  RulesPerSecurityGroupLimitExceeded: { code: "TooManyRules" },
  TooManyTargets: { code: "TooManyTargets" },
  OperationNotPermitted: { code: "DeletionProtected", actions: /^elbv2:DeleteLoadBalancer$/ },
  TooManyListeners: { code: "TooManyPorts" },
};

/** Returns what a rejection of an action means for a user; undefined if no user can fix it. */
export function toIssue(
  { action, parameters }: LoadBalancerAction,
  { reason: awsCode = "" }: { readonly reason: string | undefined },
  { metadata: { annotations } }: Service,
): Issue | undefined {
  const reason = awsCode.replace(/Exception$/, "");
  const meaning = Object.hasOwn(MEANINGS, reason) ? MEANINGS[reason] : undefined;
  if (meaning === undefined) return isCodeIn(QUOTA, reason) ? { code: "QuotaExceeded" } : undefined;
  const { code, annotation, actions } = meaning;
  if (actions?.test(action) === false) return undefined;
  if (code === "TooManyRules" && areNodeRules(parameters)) return { code: "TooManyNodeRules" };
  if (annotation === undefined) return { code };
  const field = formatAnnotationName(annotation);
  const value = annotations?.[field];
  // No annotation names one: it is our own group, and will be visible soon.
  return value === undefined ? undefined : { code, field, value };
}

/**
 * Whether rules are for the nodes' security group, which holds those of all Services: they allow a group, or
 * their description names a load balancer. Rules of a load balancer's own group allow networks and have no
 * description.
 */
function areNodeRules({ IpPermissions: permissions }: LoadBalancerAction["parameters"]): boolean {
  if (!Array.isArray(permissions)) return false;
  return parsePermissions(permissions as readonly IpPermission[]).some(
    ({ from, description }) => from === "group" || description !== undefined,
  );
}
