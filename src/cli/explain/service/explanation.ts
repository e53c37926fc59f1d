import { type StopStatus, stopAdvice } from "#cli/deletion/stop-status.ts";
import type { DryDecision } from "#cli/explain/decide-dry.ts";
import { hasHeldWrite } from "#cli/explain/explanation.ts";
import type { DescribedLoadBalancer } from "#clouds/diagnosis.ts";
import type { CapabilityErrorCode, Observation } from "#core/capability.ts";
import type { Reason } from "#core/reason.ts";
import type { IssueCode } from "#core/service/issues.ts";
import { type ClassSettings, hasFinalizer, isOfOurClass } from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";
import { parseStateAnnotation, type StateAnnotation } from "#core/service/state-annotation.ts";

/**
 * Everything known about a Service: its owner, its cloud resources, what would be done next, and what to do.
 */
export interface ServiceExplanation {
  readonly cluster: string;
  /** Undefined if no stop switch is named. */
  readonly stops?: StopStatus | undefined;
  readonly service: Service;
  readonly whose: ServiceOwner;
  /** Undefined if the cloud was not asked. */
  readonly observed: Observation | undefined;
  /** The observation described in words. */
  readonly described: DescribedLoadBalancer | undefined;
  readonly report: DryDecision["report"];
  readonly advice: readonly string[];
}

/** What was read, asked and decided. */
export interface ServiceExplanationInput
  extends Pick<ServiceExplanation, "cluster" | "stops" | "service" | "observed" | "described" | "report"> {
  /** Whether the cluster's entry enables the service-lb-controller. */
  readonly isOn: boolean;
  /**
   * The class whose Services belong to the cluster. Without it, Services without a class and those with our
   * own class belong to it.
   */
  readonly loadBalancerClass?: string | undefined;
}

/** Builds the explanation from what was read, asked and decided. */
export function buildServiceExplanation({
  isOn,
  loadBalancerClass,
  ...findings
}: ServiceExplanationInput): ServiceExplanation {
  const { service, report } = findings;
  const isElsewhere = getReason(report).code === "Elsewhere";
  const whose = findServiceOwner(service, { isOn, isElsewhere, loadBalancerClass });
  return { ...findings, whose, advice: buildAdvice(whose, isOn, findings) };
}

/** Returns the reason of a decision, whether or not a dry run held it back. */
export function getReason({ because, decision }: DryDecision["report"]): Reason {
  return decision?.because ?? because;
}

/** Returns the warnings of a decision that still writes. */
export function getWarnings({ decision, warnings = [] }: DryDecision["report"]): readonly Reason[] {
  return decision?.kind === "change" ? decision.warnings : warnings;
}

function buildAdvice(
  whose: ServiceOwner,
  isOn: boolean,
  {
    cluster,
    stops,
    report,
    described,
  }: Pick<ServiceExplanationInput, "cluster" | "stops" | "report" | "described">,
): readonly string[] {
  const codes = [getReason(report), ...getWarnings(report)].map(({ code }) => code);
  const remedies = codes.flatMap((code) => {
    const remedy = findServiceRemedy(code);
    return remedy === undefined ? [] : [`${code}: ${remedy}`];
  });
  const held = isOn ? stopAdvice(stops, cluster, [report]) : undefined;
  return [
    ...new Set([
      ...(held === undefined ? [] : [held]),
      ...buildOwnAdvice(whose, { isOn, isHeld: held !== undefined }, report),
      ...remedies,
      ...(described?.belongsTo === "other" ? [FOREIGN] : []),
    ]),
  ];
}

function buildOwnAdvice(
  whose: ServiceOwner,
  { isOn, isHeld }: { readonly isOn: boolean; readonly isHeld: boolean },
  report: DryDecision["report"],
): readonly string[] {
  if (isHeld) return [];
  // words-ignore: a value of explain's JSON output
  if (whose.kind === "nobody" || whose.kind === "other") return isOn ? [] : [TURN_ON];
  if (hasHeldWrite(report)) return isOn ? [BY_ITSELF] : [TURN_ON];
  return report.outcome === "retry" ? [] : [NOTHING_LEFT];
}

const TURN_ON = "to have it served here: docs/how-to/switch-the-stock-controller-off.md";

const BY_ITSELF =
  "the relay sends it to the function; if this does not change, serverless-ccm doctor shows what stops it";

const NOTHING_LEFT = "nothing on this Service is serverless-ccm's to do";

const FOREIGN = "what is another's by its tags is neither changed nor deleted";

/**
 * The owner of a Service's load balancer, from the Service itself and from whether the cluster enables our
 * controller.
 */
type ServiceOwner =
  /** It requests no load balancer and has none of ours. */
  // words-ignore: a value of explain's JSON output
  | { readonly kind: "nobody"; readonly because: string }
  | { readonly kind: "ours"; readonly because: string }
  /** It requests a load balancer that we would create. */
  | { readonly kind: "free"; readonly because: string }
  | { readonly kind: "other"; readonly because: string };

/** Finds the owner. `isElsewhere`: the cloud's model assigns its annotations or class to another controller. */
function findServiceOwner(
  service: Service,
  {
    isOn,
    isElsewhere,
    ...classes
  }: { readonly isOn: boolean; readonly isElsewhere: boolean } & ClassSettings,
): ServiceOwner {
  const mark = parseStateAnnotation(service);
  if (mark !== undefined) {
    const said = SAID[mark.state](mark.at);
    return { kind: "ours", because: `ours by our annotation: ${said}${isOn ? "" : NOT_ON}` };
  }
  const { type = "ClusterIP", loadBalancerClass } = service.spec;
  if (type !== "LoadBalancer")
    // words-ignore: a value of explain's JSON output
    return { kind: "nobody", because: `it is of type ${type} and asks for no load balancer` };
  const which = loadBalancerClass === undefined ? "no class" : `our class ${loadBalancerClass}`;
  if (!isOfOurClass(service, classes))
    return {
      kind: "other",
      because:
        loadBalancerClass === undefined
          ? `another controller's: it is of no class, and the cluster's is ${classes.loadBalancerClass}`
          : `another controller's, by spec.loadBalancerClass ${loadBalancerClass}`,
    };
  if (isElsewhere)
    return { kind: "other", because: "another controller's, by its annotation aws-load-balancer-type" };
  if (!isOn) return { kind: "other", because: `the stock controller's as long as it runs${NOT_ON}` };
  if (hasFinalizer(service))
    return {
      kind: "free",
      because:
        "another controller has served it, by its finalizer; ours adopts what has this Service's name and tags",
    };
  return { kind: "free", because: `ours to make: it is of ${which}, and no controller has served it` };
}

const NOT_ON = "; service-lb-controller is not among the controllers of this cluster's entry";

const SAID: Readonly<Record<StateAnnotation["state"], (at: string) => string>> = {
  applied: (at) => `as it was asked for, last at ${at}`,
  applying: (at) => `under way since ${at}`,
  leaving: (at) => `it goes, and what was made of it last is looked for since ${at}`,
  undoing: (at) => `the cloud refused it at ${at}, and what was made of it goes`,
  refused: (at) =>
    `the cloud refused it, nothing of it is left, and the controller retries at the earliest an hour after ${at}`,
};

/** Codes that come from decisions on a Service themselves or from a failed invocation. */
type OtherCode =
  | "Elsewhere"
  | "LoadBalancerInProgress"
  | "LoadBalancerLimit"
  | "NodesStale"
  | "NodesUnknown"
  | "NotSupported"
  | "ServicesUnknown";

const AGAIN = "none: it is retried automatically";

const ANNOTATION = "set the annotation to what is allowed, or remove it";

const FIELD = "set the field to what is allowed";

const ALLOW = "name one of the cluster's own, or let the operator add it to cloud.allow";

const NODE_GROUPS =
  "tag exactly one security group of each node's instance kubernetes.io/cluster/<clusterTag>; serverless-ccm doctor names the instances without it";

const REMEDIES: Readonly<Record<IssueCode | CapabilityErrorCode | OtherCode, string>> = {
  InvalidAnnotation: ANNOTATION,
  UnsupportedAnnotation: ANNOTATION,
  UnknownAnnotation: ANNOTATION,
  ReservedTag: "remove the tags from the annotation: they mark the owner of a resource",
  InvalidSourceRanges: FIELD,
  InvalidField: FIELD,
  NoPorts: "give the Service a port",
  NoNodePort: "set spec.allocateLoadBalancerNodePorts to true, or name a nodePort for each port",
  MixedProtocols:
    "make a Service of each protocol, or give TCP and UDP the same port and nodePort on a network load balancer",
  UnsupportedProtocol: FIELD,
  SessionAffinity: "set spec.sessionAffinity to None",
  LoadBalancerIP: "remove spec.loadBalancerIP; on AWS, name Elastic IP addresses by annotation",
  IPFamilies: "give the subnets, and the nodes, IPv6; or make the Service single-stack IPv4",
  NodeWithoutIPv6: "give the instance a primary IPv6 address, or make the Service single-stack IPv4",
  NodeLabelsUnknown: AGAIN,
  TypeChanged: "set it back, make another Service, or let the operator set cloud.replaceOnTypeChange",
  NoEligibleSubnet:
    "tag a subnet of each zone kubernetes.io/cluster/<clusterTag>, and kubernetes.io/role/elb or kubernetes.io/role/internal-elb; serverless-ccm doctor shows which are eligible",
  SubnetNotFound: ALLOW,
  SubnetsOfOneZone: "name one subnet of each zone",
  SubnetsChanged: "set the annotation back, or make another Service",
  NoNodeSecurityGroup: NODE_GROUPS,
  AmbiguousNodeSecurityGroup: NODE_GROUPS,
  NodeSecurityGroupNotProven:
    "tag each security group of nodes kubernetes.io/cluster/<clusterTag>, or list its id in cloud.allow.nodeSecurityGroups; serverless-ccm doctor names the groups",
  SecurityGroupNotAllowed: ALLOW,
  SecurityGroupHidden:
    "allow the cloud's user to read the group that the line above names, or delete the rules of the Service's own security group that name it",
  CertificateNotUsable: ALLOW,
  ElasticIPsNotUsable: ALLOW,
  ElasticIPsOfOtherCount: "name one Elastic IP address for each subnet",
  AddressCountMismatch: "name one address of each subnet's network",
  ReservedIPNotUsable:
    "give the address the free-form tag serverless-ccm-cluster with the cluster's name, and free it of what has it",
  SecretsNotRead: "terminate TLS in the cluster, such as at an ingress controller, and remove the annotation",
  SecurityLists:
    "set the annotation to NSG or None, or loadBalancer.securityListManagementMode of the cluster's cloud for all Services",
  BucketNotUsable: "let the load balancer write to the bucket, by its policy, and add it to cloud.allow",
  NotAllowed: ALLOW,
  NameTaken:
    "find the owner of the load balancer with that name; delete it, or recreate the Service, which gives it another name",
  TooManyRules:
    "name fewer networks or ports, or have the account's quota of rules raised; cloud.sharedBackendSecurityGroup needs one rule for all",
  TooManyPorts: "make several Services of it",
  TooManyTargets:
    "narrow the nodes down, with the annotation that selects targets by label or with the label that excludes nodes",
  LoadBalancerForeign:
    "remove the annotation; or tag the load balancer with the cluster's tag in the cloud, such as k8s:<clusterID>, if it is the cluster's",
  AmbiguousLoadBalancer: "delete all but one in the cloud, or name one by the annotation of its id",
  LoadBalancerImmutable: "set it back, or make another Service",
  LoadBalancerFailed: "see what the cloud says about it; delete and recreate the Service",
  NodesWithoutPublicAddress:
    "set the type to REGIONAL or the network to INTERNAL, by annotation, or give nodes public addresses",
  NodeNotUsable:
    "see which node it is in the function's log, and whether its instance is in the configured network and carries the configured tag",
  TooManyClusterPorts:
    "delete a Service or some of its ports, or raise loadBalancers.maxPorts of the cluster's entry",
  TooManyNodeRules:
    "delete a Service, or have the account's quota of rules of a security group raised; the group of the nodes holds the rules of all Services of the cluster",
  QuotaExceeded: "have the account's quota raised; serverless-ccm doctor shows the number of load balancers",
  DeletionProtected:
    "set the load balancer's attribute deletion_protection.enabled to false, or delete it by hand",
  AddressInUse: "name an address that no other Service uses, or no address",
  AddressOutsidePool: "name an address of the pool, or let the operator set cloud.outsidePool to allow",
  PoolExhausted: "delete a Service that needs its address no longer, or make the pool larger",
  PoolLacksFamily: "change spec.ipFamilies, or give the pool addresses of that family",
  NoPool: "make the ConfigMap that cloud.namespace and cloud.configMap name, with a pool for this namespace",
  InvalidPool: "repair the ConfigMap; the line above says what is unreadable",
  LoadBalancerRefused: "see the action in the function's log, with AWS's request id",
  Throttled: "none: it is retried; if this lasts, others use the account's quotas",
  Denied: "give the functions' credentials what they need (docs/reference/aws-permissions.md)",
  Invalid: "see the request in the function's log",
  Unavailable: "none: it is retried; serverless-ccm doctor shows whether the cloud answers at all",
  Aborted: AGAIN,
  Elsewhere: "none here: see the controller of that class, or remove the class or annotation",
  LoadBalancerInProgress: "none: the cloud is working on it, and it is checked again automatically",
  LoadBalancerLimit:
    "delete a Service with a load balancer, or raise loadBalancers.max of the cluster's entry",
  NodesStale: AGAIN,
  NodesUnknown: AGAIN,
  ServicesUnknown: AGAIN,
  NotSupported: "run the controller of that cloud's vendor for Services",
};

/**
 * Returns what to do about a decision on a Service, by its code; undefined if there is nothing to do or the
 * code is unknown.
 */
export function findServiceRemedy(code: string): string | undefined {
  return Object.hasOwn(REMEDIES, code) ? REMEDIES[code as keyof typeof REMEDIES] : undefined;
}
