import type { MessageTemplate } from "#core/message-template.ts";
import type { Reason } from "#core/reason.ts";

const REPORT_CONDITION = "At each check of the load balancer, until the cause is fixed.";
const ASK_OPERATOR_SENTENCE = "Ask the operator of the cloud controller, whose log has details.";

/** Builds the message template of an issue. */
function buildMessageTemplate<const Sentence extends string>(sentence: Sentence) {
  return { sentence, when: REPORT_CONDITION } as const satisfies MessageTemplate;
}

const ADDRESS_COUNT = buildMessageTemplate(
  '{field} ("{value}") must name one address for each subnet of the load balancer.',
);

/**
 * The issues that keep a Service's load balancer from its desired state, by code: the `code` of an `Issue` in
 * `src/core/service/model.ts`, on every cloud. Sentences are fixed. They have placeholders for `{field}` and
 * `{value}`, which come from the Service, and for `{allowed}` if its words are ours. The cloud's own words never
 * appear in a sentence; only the code reflects its answer. An unknown code is reported as `LoadBalancerRefused`,
 * and its details go to the log.
 */
export const ISSUES = {
  InvalidAnnotation: buildMessageTemplate('The annotation {field} is "{value}"; allowed: {allowed}'),
  UnsupportedAnnotation: buildMessageTemplate(
    'The annotation {field} ("{value}") is not supported by this kind of load balancer; allowed: {allowed}',
  ),
  UnknownAnnotation: buildMessageTemplate("The annotation {field} is unknown; allowed: {allowed}"),
  ReservedTag: buildMessageTemplate(
    'The annotation {field} ("{value}") names tags that a Service may not set; allowed: {allowed}',
  ),
  InvalidSourceRanges: buildMessageTemplate('{field} is "{value}"; allowed: {allowed}'),
  InvalidField: buildMessageTemplate('{field} is "{value}"; allowed: {allowed}'),
  NoPorts: buildMessageTemplate("The Service has no ports, but a load balancer needs at least one."),
  NoNodePort: buildMessageTemplate(
    "A port of the Service has no node port, but the load balancer sends to node ports. Set spec.allocateLoadBalancerNodePorts to true, or name a nodePort.",
  ),
  MixedProtocols: buildMessageTemplate(
    "Several ports of the Service have the same number but cannot share a listener. TCP and UDP can share a number only with the same nodePort and without TLS. Change a port, or create a Service for each protocol.",
  ),
  UnsupportedProtocol: buildMessageTemplate(
    'The protocol in {field} ("{value}") is not supported by this load balancer; allowed: {allowed}',
  ),
  SessionAffinity: buildMessageTemplate(
    'spec.sessionAffinity ("{value}") is not supported by this load balancer; allowed: None',
  ),
  LoadBalancerIP: buildMessageTemplate(
    'spec.loadBalancerIP ("{value}") is not supported by this load balancer; allowed: {allowed}',
  ),
  IPFamilies: buildMessageTemplate(
    "The load balancer cannot serve the IP families in spec.ipFamilies; allowed: {allowed}",
  ),
  NodeWithoutIPv6: buildMessageTemplate(
    "The instance of a node has no primary IPv6 address, so the node gets no traffic from this load balancer. Give the instance a primary IPv6 address.",
  ),
  NodeLabelsUnknown: buildMessageTemplate(
    `The labels of the nodes are unknown, so {field} cannot select nodes. The targets stay unchanged. ${ASK_OPERATOR_SENTENCE}`,
  ),
  TypeChanged: buildMessageTemplate(
    'The kind of a load balancer cannot be changed while the Service has one, and {field} ("{value}") asks for another kind. Set it back, or create another Service.',
  ),
  NoEligibleSubnet: buildMessageTemplate(
    "No subnet is suitable for this load balancer. Tag a subnet with kubernetes.io/cluster/NAME, or name subnets by annotation. An internet-facing load balancer needs subnets with a route to an internet gateway.",
  ),
  SubnetNotFound: buildMessageTemplate(
    '{field} ("{value}") names a subnet that was not found or may not be used; allowed: subnets of the cluster, by ID or by unique name.',
  ),
  SubnetsOfOneZone: buildMessageTemplate(
    '{field} ("{value}") names two subnets of one zone; allowed: one for each zone.',
  ),
  SubnetsChanged: buildMessageTemplate(
    "{field} asks for other subnets than the load balancer is in, which cannot be done in place. Set it back, or create another Service.",
  ),
  NoNodeSecurityGroup: buildMessageTemplate(
    `No security group of the nodes is identified as the cluster's, so no rule allows the load balancer to reach the nodes. ${ASK_OPERATOR_SENTENCE}`,
  ),
  AmbiguousNodeSecurityGroup: buildMessageTemplate(
    `More than one security group of a node has the cluster's tag. Only one may have it. ${ASK_OPERATOR_SENTENCE}`,
  ),
  NodeSecurityGroupNotProven: buildMessageTemplate(
    `A security group of the nodes may also belong to other machines. Its rules for load balancers stay unchanged. ${ASK_OPERATOR_SENTENCE}`,
  ),
  SecurityGroupNotAllowed: buildMessageTemplate(
    `{field} ("{value}") names a security group that was not found or may not be used; allowed: the cluster's own, and what its operator allows. ${ASK_OPERATOR_SENTENCE}`,
  ),
  SecurityGroupHidden: buildMessageTemplate(
    "A security group of the nodes still has rules of the Service, and the cloud does not show that group. The Service's own security group stays until these rules are removed. Ask the operator of the cloud controller, whose log names both groups, to allow it to read that group, or to delete the rules of the Service's own security group that name it.",
  ),
  CertificateNotUsable: buildMessageTemplate(
    `{field} ("{value}") names a certificate that was not found or may not be used; allowed: what the cluster's operator allows. ${ASK_OPERATOR_SENTENCE}`,
  ),
  ElasticIPsNotUsable: buildMessageTemplate(
    `{field} ("{value}") names Elastic IP addresses that were not found, are in use or may not be used; allowed: free ones that are the cluster's own, or that its operator allows. ${ASK_OPERATOR_SENTENCE}`,
  ),
  ReservedIPNotUsable: buildMessageTemplate(
    `{field} ("{value}") is not a free reserved public IP address of this cluster. ${ASK_OPERATOR_SENTENCE}`,
  ),
  SecretsNotRead: buildMessageTemplate(
    'The annotation {field} ("{value}") names a Secret with a certificate, but this controller does not read Secrets; allowed: {allowed}. Terminate TLS in the cluster.',
  ),
  SecurityLists: buildMessageTemplate(
    `{field} is "{value}" or not set. The load balancer's rules would then be in the security lists of its subnets, which this controller does not edit; allowed: {allowed}. ${ASK_OPERATOR_SENTENCE}`,
  ),
  ElasticIPsOfOtherCount: ADDRESS_COUNT,
  AddressCountMismatch: ADDRESS_COUNT,
  BucketNotUsable: buildMessageTemplate(
    `{field} ("{value}") names a bucket that the load balancer may not write to, or that may not be used; allowed: what the cluster's operator allows. ${ASK_OPERATOR_SENTENCE}`,
  ),
  NotAllowed: buildMessageTemplate(
    `The value of {field} ("{value}") is not allowed in this cluster. ${ASK_OPERATOR_SENTENCE}`,
  ),
  NameTaken: buildMessageTemplate(
    `A resource with the name of the Service's load balancer already exists and does not belong to the Service. ${ASK_OPERATOR_SENTENCE}`,
  ),
  TooManyRules: buildMessageTemplate(
    "The Service's ports and source ranges make more rules than a security group may have. Name fewer networks, or fewer ports.",
  ),
  TooManyNodeRules: buildMessageTemplate(
    "The security group of the nodes has reached its limit of rules, which all Services of the cluster share. The controller retries every few minutes. Delete a Service, or ask the operator of the cloud controller to raise the quota of rules of a security group.",
  ),
  TooManyPorts: buildMessageTemplate(
    "The Service has more ports than a load balancer may have listeners. Remove ports, or create a second Service.",
  ),
  TooManyClusterPorts: buildMessageTemplate(
    `The load balancers of the cluster have reached their limit of ports. Ports that are served stay; this Service gets no more. The controller retries every few minutes. Delete a Service or some of its ports. ${ASK_OPERATOR_SENTENCE}`,
  ),
  TooManyTargets: buildMessageTemplate(
    "The cluster has more nodes than a load balancer may have targets: some nodes get no traffic from it. If there is an annotation for node labels, select nodes with it.",
  ),
  LoadBalancerForeign: buildMessageTemplate(
    `{field} ("{value}") names a load balancer that is not identified as this cluster's. The controller does not change it. Remove the annotation, or name another one. ${ASK_OPERATOR_SENTENCE}`,
  ),
  AmbiguousLoadBalancer: buildMessageTemplate(
    `There is more than one load balancer that may be the Service's. The controller changes nothing until only one is left. ${ASK_OPERATOR_SENTENCE}`,
  ),
  LoadBalancerImmutable: buildMessageTemplate(
    '{field} ("{value}") asks for a change that is not possible on an existing load balancer. All other changes were made. Set it back, or create another Service.',
  ),
  LoadBalancerFailed: buildMessageTemplate(
    `The cloud says that the load balancer has failed. Create another Service, or wait until it is repaired. ${ASK_OPERATOR_SENTENCE}`,
  ),
  NodesWithoutPublicAddress: buildMessageTemplate(
    "No node has a public IPv4 address, and this kind of load balancer sends to no other. Set the annotation service.beta.kubernetes.io/do-loadbalancer-type to REGIONAL, or service.beta.kubernetes.io/do-loadbalancer-network to INTERNAL.",
  ),
  NodeNotUsable: buildMessageTemplate(
    `A node names an instance that is not identified as this cluster's. The load balancer does not send to it. ${ASK_OPERATOR_SENTENCE}`,
  ),
  QuotaExceeded: buildMessageTemplate(
    `The cloud account has reached its quota of load balancers or of their parts, which all its clusters share. The controller retries every few minutes. ${ASK_OPERATOR_SENTENCE}`,
  ),
  DeletionProtected: buildMessageTemplate(
    `The Service's previous load balancer has deletion protection, which this controller did not set. It stays until someone removes the protection. ${ASK_OPERATOR_SENTENCE}`,
  ),
  AddressInUse: buildMessageTemplate(
    '{field} ("{value}") is the address of another Service; allowed: {allowed}',
  ),
  AddressOutsidePool: buildMessageTemplate(
    '{field} ("{value}") is not in the address pool; allowed: {allowed}',
  ),
  PoolExhausted: buildMessageTemplate(
    `The address pool has no free address. Delete a Service that no longer needs its address, or name an address. ${ASK_OPERATOR_SENTENCE}`,
  ),
  PoolLacksFamily: buildMessageTemplate(
    `The address pool has no addresses of an IP family that the Service needs. Change {field}. ${ASK_OPERATOR_SENTENCE}`,
  ),
  NoPool: buildMessageTemplate(
    `There is no address pool for the Service: the ConfigMap with the pools is missing, or contains no pool for its namespace. ${ASK_OPERATOR_SENTENCE}`,
  ),
  InvalidPool: buildMessageTemplate(
    `The ConfigMap of pools and addresses is invalid. Until it is repaired, no Service gets an address. ${ASK_OPERATOR_SENTENCE}`,
  ),
  LoadBalancerRefused: buildMessageTemplate(
    `The load balancer cannot be created or changed as the Service requests. ${ASK_OPERATOR_SENTENCE}`,
  ),
} as const satisfies Readonly<Record<string, MessageTemplate>>;

/** A code of the issue catalogue. */
export type IssueCode = keyof typeof ISSUES;

/** Returns the code under which an issue is reported. */
export function toIssueCode({ code }: { readonly code: string }): IssueCode {
  return Object.hasOwn(ISSUES, code) ? (code as IssueCode) : "LoadBalancerRefused";
}

/**
 * Limits that Services share. Such an issue ends when the limit is raised or when another Service is deleted.
 */
const SHARED_LIMITS: ReadonlySet<IssueCode> = new Set([
  "PoolExhausted",
  "QuotaExceeded",
  "TooManyClusterPorts",
  "TooManyNodeRules",
]);

/**
 * Returns whether an issue is a limit that Services share. The Service may then succeed later without a
 * change.
 */
export function isSharedLimit(issue: { readonly code: string }): boolean {
  return SHARED_LIMITS.has(toIssueCode(issue));
}

/** The code of a Service whose load balancer the cloud is still working on. */
export const IN_PROGRESS = "LoadBalancerInProgress";

/** The reason while an event lacks the cluster's Services, which says nothing about their number. */
export const SERVICES_UNKNOWN: Reason = {
  code: "ServicesUnknown",
  message: "the event came without the Services",
};

/** The code of a Service that waits because other Services come first. */
export const LIMIT_REACHED = "LoadBalancerLimit";
