import type { IpPermission } from "@aws-sdk/client-ec2";
import {
  ANNOTATION_PREFIX,
  formatAnnotationName,
} from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import type { AnnotationSuffix, LoadBalancerKind } from "#clouds/aws/load-balancers/annotations/table.ts";
import { applyClassicResult } from "#clouds/aws/load-balancers/classic/apply-result.ts";
import { buildClassicContext } from "#clouds/aws/load-balancers/classic/context.ts";
import { planClassic } from "#clouds/aws/load-balancers/classic/plan.ts";
import { isOwnClassicBalancer } from "#clouds/aws/load-balancers/classic/remove.ts";
import { getConfiguration } from "#clouds/aws/load-balancers/configuration.ts";
import { contextFor } from "#clouds/aws/load-balancers/context.ts";
import { followNodesOnAws } from "#clouds/aws/load-balancers/follow-nodes.ts";
import { getLoadBalancerKind, measureBalancer, TYPE } from "#clouds/aws/load-balancers/measure.ts";
import { applyNetworkResult } from "#clouds/aws/load-balancers/network/apply-result.ts";
import { isOwnBalancer } from "#clouds/aws/load-balancers/network/context.ts";
import { planNetwork } from "#clouds/aws/load-balancers/network/plan.ts";
import { createOrphanModel } from "#clouds/aws/load-balancers/orphans/model.ts";
import { precheck } from "#clouds/aws/load-balancers/precheck.ts";
import { listLostTargets, selectTarget } from "#clouds/aws/load-balancers/select-target.ts";
import type { AwsLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import { applyVpcResult } from "#clouds/aws/load-balancers/vpc/apply-result.ts";
import { parsePermissions } from "#clouds/aws/load-balancers/vpc/rules.ts";
import { SOURCE_RANGES_ANNOTATION } from "#core/contracts.ts";
import type { IssueCode } from "#core/service/issues.ts";
import type {
  Issue,
  LoadBalancerAction,
  LoadBalancerModel,
  LoadBalancerQuestion,
  LoadBalancerStep,
} from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";
import { isCodeIn, QUOTA } from "#platforms/aws/error-codes.ts";

/** Without these actions a load balancer works, with fewer targets or without logs. */
const KEPT = /:(Register|ModifyLoadBalancerAttributes$|AddTags$|CreateTags$)/;

/** Changes with what is built from an unchanged Service, so that all Services are checked again. */
const VERSION = 1;

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

/**
 * The load balancer model of AWS: network and classic load balancers, created as the stock controller does.
 */
export const awsLoadBalancerModel: LoadBalancerModel = {
  precheck,
  planStep(question, observed, settings) {
    // The observation comes from our own capability, which has parsed AWS's answers.
    const request = { question, state: observed as AwsLoadBalancerState, settings };
    if (!question.wanted) return remove(request);
    const kind = getLoadBalancerKind(question.service);
    return kind === "foreign" ? { kind } : ensure(kind, request);
  },
  followNodes: followNodesOnAws,
  listLostTargets: (question, observed) => listLostTargets(question, observed as AwsLoadBalancerState),
  isVisible(question, observed, settings) {
    const kind = getLoadBalancerKind(question.service);
    const request = { question, state: observed as AwsLoadBalancerState, settings };
    return kind === "foreign" || hasOwnBalancer(kind, request);
  },
  measure: ({ service }, observed) => measureBalancer(service, observed as AwsLoadBalancerState),
  applyResult(observed, action, result) {
    const state = observed as AwsLoadBalancerState;
    switch (action.action.split(":")[0]) {
      case "ec2":
        return { ...state, vpc: applyVpcResult(state.vpc, action, result) };
      case "elb":
        return { ...state, classic: applyClassicResult(state.classic, action, result) };
      default:
        return applyNetworkResult(state, action, result);
    }
  },
  // All Services of a batch share one state of the VPC.
  isShared: ({ action }) => action.startsWith("ec2:"),
  toIssue,
  orphans: createOrphanModel((question, state, settings) => remove({ question, state, settings })),
  needsRollback,
  describeDesired,
  getTarget: selectTarget,
};

interface PlanRequest {
  readonly question: LoadBalancerQuestion;
  readonly state: AwsLoadBalancerState;
  readonly settings: Settings;
}

const OTHER = { network: "classic", classic: "network" } as const satisfies Record<
  LoadBalancerKind,
  LoadBalancerKind
>;

/**
 * Plans the load balancer of the desired type. One of the other type is found by its own API and removed only
 * if the operator allows it. The new one must exist and the status must name it first, so that clients have
 * time to find it. Leftovers of an interrupted removal are removed too.
 */
function ensure(kind: LoadBalancerKind, request: PlanRequest): LoadBalancerStep {
  const other = OTHER[kind];
  const isOtherPresent = hasOwnBalancer(other, request);
  const { replaceOnTypeChange } = getConfiguration(request.settings);
  if (isOtherPresent && replaceOnTypeChange !== true && !isPublished(kind, request))
    return { kind: "refused", issue: rejectTypeChange(kind, request) };
  const step = plan(kind, request);
  if (step.kind !== "settled" || (isOtherPresent && !isPublished(kind, request))) return step;
  const removal = plan(other, { ...request, question: { ...request.question, wanted: false } });
  return removal.kind === "settled" ? step : removal;
}

/** Removes everything of both types. */
function remove(request: PlanRequest): LoadBalancerStep {
  const network = plan("network", request);
  if (network.kind === "act") return network;
  const classic = plan("classic", request);
  return classic.kind === "act" || network.kind === "settled" ? classic : network;
}

function plan(kind: LoadBalancerKind, { question, state, settings }: PlanRequest): LoadBalancerStep {
  if (kind === "classic") return planClassic(question, state, settings);
  const context = contextFor(question.service, state, settings);
  // No resource can have such a name.
  return context === undefined ? NOTHING_LEFT : planNetwork(question, context);
}

const NOTHING_LEFT: LoadBalancerStep = { kind: "settled", ingress: [], warnings: [] };

function hasOwnBalancer(kind: LoadBalancerKind, { question, state, settings }: PlanRequest): boolean {
  if (kind === "classic") return isOwnClassicBalancer(buildClassicContext(question, state, settings));
  const context = contextFor(question.service, state, settings);
  return context !== undefined && isOwnBalancer(context);
}

/** Whether the status names the load balancer of a type by its current DNS name. */
function isPublished(kind: LoadBalancerKind, { question, state }: PlanRequest): boolean {
  const { DNSName } = (kind === "network" ? state.network : state.classic)?.loadBalancer ?? {};
  const ingress = question.service.status?.loadBalancer?.ingress ?? [];
  return DNSName !== undefined && ingress.some(({ hostname }) => hostname === DNSName);
}

function rejectTypeChange(kind: LoadBalancerKind, { question }: PlanRequest) {
  const { metadata, spec } = question.service;
  const isClass = spec.loadBalancerClass !== undefined;
  return {
    code: "TypeChanged",
    field: isClass ? "spec.loadBalancerClass" : TYPE,
    value: isClass ? spec.loadBalancerClass : metadata.annotations?.[TYPE],
    allowed: `the type of the existing load balancer, which is ${OTHER[kind]}`,
    detail: "set cloud.replaceOnTypeChange to have it replaced",
  };
}

/**
 * Whether new resources are removed because AWS rejected an action. True if the observation had no load
 * balancer, or none with listeners: it cannot have served anyone.
 */
function needsRollback({ action }: LoadBalancerAction, observed: unknown): boolean {
  // The observation comes from our own capability, which has parsed AWS's answers.
  const { network, classic } = observed as AwsLoadBalancerState;
  return !KEPT.test(action) && classic === undefined && (network?.listeners.length ?? 0) === 0;
}

/**
 * Returns as one text all that determines a Service's load balancer, except its targets and AWS's own values.
 */
function describeDesired({ metadata, spec }: Service, { cluster, cloud }: Settings): string {
  const annotations = Object.entries(metadata.annotations ?? {})
    .filter(([name]) => name.startsWith(ANNOTATION_PREFIX) || name === SOURCE_RANGES_ANNOTATION)
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
  const { namespace, name, uid } = metadata;
  return JSON.stringify([
    VERSION,
    namespace,
    name,
    uid,
    annotations,
    sortMembers(spec),
    cluster,
    sortMembers(cloud),
  ]);
}

/** Sorts the members of objects. */
function sortMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortMembers);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return entries.map(([key, member]) => [key, sortMembers(member)]);
}

interface ErrorMeaning {
  readonly code: IssueCode;
  /** The annotation that names what AWS rejects. */
  readonly annotation?: AnnotationSuffix;
  /** Only for these actions; for others the code means something else, or is temporary. */
  readonly actions?: RegExp;
}

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
