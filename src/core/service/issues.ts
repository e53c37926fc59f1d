import type { MessageTemplate } from "#core/message-template.ts";

const WHEN_REFUSED = "Each time the load balancer is looked at, until it is mended.";
const ASK = "Ask the operator of the cloud controller, whose log has details.";

/** An issue's sentence, and the condition under which it is reported. */
function buildMessageTemplate<const Sentence extends string>(sentence: Sentence) {
  return { sentence, when: WHEN_REFUSED } as const satisfies MessageTemplate;
}

/**
 * The issues that keep a Service's load balancer from its desired state, by code: the `code` of an `Issue` in
 * `src/core/service/model.ts`, on every cloud. Sentences are fixed. They have room for `{field}` and `{value}`, which come from
 * the Service, and for `{allowed}` if its words are ours and not the cloud's. A code alone says what the cloud answered. An unknown
 * code is reported as `LoadBalancerRefused`, and its details go to the log.
 */
export const ISSUES = {
  InvalidAnnotation: buildMessageTemplate('The annotation {field} is "{value}"; allowed: {allowed}'),
  UnsupportedAnnotation: buildMessageTemplate(
    'The annotation {field} ("{value}") does not hold for this kind of load balancer; allowed: {allowed}',
  ),
  UnknownAnnotation: buildMessageTemplate("The annotation {field} is not known; allowed: {allowed}"),
  ReservedTag: buildMessageTemplate(
    'The annotation {field} ("{value}") names tags that are not the Service\'s to set; allowed: {allowed}',
  ),
  InvalidSourceRanges: buildMessageTemplate('{field} says "{value}"; allowed: {allowed}'),
  InvalidField: buildMessageTemplate('{field} is "{value}"; allowed: {allowed}'),
  NoPorts: buildMessageTemplate("The Service has no ports, and a load balancer needs one at least."),
  NoNodePort: buildMessageTemplate(
    "A port of the Service has no node port, which is what the load balancer sends to. Set spec.allocateLoadBalancerNodePorts to true, or name a nodePort.",
  ),
  MixedProtocols: buildMessageTemplate(
    "The load balancer cannot serve these protocols on one Service: UDP and TCP need the same port and the same node port, and nothing else is served. Make a Service of each protocol.",
  ),
  UnsupportedProtocol: buildMessageTemplate(
    'The protocol "{value}" of {field} is not served by this load balancer; allowed: {allowed}',
  ),
  SessionAffinity: buildMessageTemplate(
    'spec.sessionAffinity is "{value}", which this load balancer does not do; allowed: None',
  ),
  LoadBalancerIP: buildMessageTemplate(
    'spec.loadBalancerIP is "{value}", which this load balancer does not take; allowed: none. Addresses are chosen by annotation.',
  ),
  IPFamilies: buildMessageTemplate(
    "The load balancer cannot serve the IP families of the Service: its network, its subnets or its nodes have no IPv6.",
  ),
  TypeChanged: buildMessageTemplate(
    'The kind of a load balancer cannot be changed while the Service has one, and {field} ("{value}") asks for another kind. Set it back, or make another Service.',
  ),
  NoEligibleSubnet: buildMessageTemplate(
    "No subnet of the cluster's network is fit for this load balancer. Tag one for its role, or name subnets by annotation.",
  ),
  SubnetNotFound: buildMessageTemplate(
    "{field} (\"{value}\") names a subnet that the cluster's network does not have or that may not be used; allowed: the cluster's own, by id or by a name that one alone has.",
  ),
  SubnetsOfOneZone: buildMessageTemplate(
    '{field} ("{value}") names two subnets of one zone; allowed: one for each zone.',
  ),
  SubnetsChanged: buildMessageTemplate(
    "{field} asks for other subnets than the load balancer is in, which cannot be done in place. Set it back, or make another Service.",
  ),
  NoNodeSecurityGroup: buildMessageTemplate(
    `No security group of the nodes can be told to be the cluster's: nothing lets the load balancer reach them. ${ASK}`,
  ),
  AmbiguousNodeSecurityGroup: buildMessageTemplate(
    `More than one security group of a node is tagged as the cluster's: it cannot be told which is to let the load balancer in. ${ASK}`,
  ),
  NodeSecurityGroupNotProven: buildMessageTemplate(
    `A security group of the nodes cannot be told to be this cluster's alone: rules for load balancers stay on it as they are, and none is added or removed. ${ASK}`,
  ),
  SecurityGroupNotAllowed: buildMessageTemplate(
    `{field} ("{value}") names a security group that is not there or may not be used; allowed: the cluster's own, and what its operator allows. ${ASK}`,
  ),
  CertificateNotUsable: buildMessageTemplate(
    `{field} ("{value}") names a certificate that is not there or that may not be used; allowed: what the cluster's operator allows. ${ASK}`,
  ),
  ElasticIPsNotUsable: buildMessageTemplate(
    `{field} ("{value}") names Elastic IP addresses that are not there, are in use or may not be used; allowed: free ones that are the cluster's own, or that its operator allows. ${ASK}`,
  ),
  ReservedIPNotUsable: buildMessageTemplate(
    `{field} ("{value}") is no reserved public IP address that is there, is free and may be used; allowed: one of the cluster's own. ${ASK}`,
  ),
  SecretsNotRead: buildMessageTemplate(
    'The annotation {field} ("{value}") asks for a certificate of a Secret, and this controller reads no Secrets; allowed: {allowed}. Let TLS end in the cluster.',
  ),
  SecurityLists: buildMessageTemplate(
    `The rules of this load balancer would be kept in security lists of whole subnets, which this controller does not edit, as {field} says "{value}" or nothing; allowed: {allowed}. ${ASK}`,
  ),
  ElasticIPsOfOtherCount: buildMessageTemplate(
    '{field} ("{value}") does not name as many addresses as the load balancer has subnets; allowed: one for each.',
  ),
  BucketNotUsable: buildMessageTemplate(
    `{field} ("{value}") names a bucket that the load balancer may not write to, or that may not be used; allowed: what the cluster's operator allows. ${ASK}`,
  ),
  NotAllowed: buildMessageTemplate(
    `{field} ("{value}") asks for something that may not be used in this cluster. ${ASK}`,
  ),
  NameTaken: buildMessageTemplate(
    `A load balancer or another resource of the name that follows from the Service is there already, and is not the Service's. ${ASK}`,
  ),
  TooManyRules: buildMessageTemplate(
    "The Service's ports and source ranges make more rules than a security group may have. Name fewer networks, or fewer ports.",
  ),
  TooManyNodeRules: buildMessageTemplate(
    `The security group of the cluster's nodes has as many rules as it may have, those of all Services of the cluster together: this Service's do not fit. It is tried again every few minutes. Delete a Service, or ask the operator of the cloud controller to raise the quota of rules of a security group.`,
  ),
  TooManyPorts: buildMessageTemplate("The Service has more ports than a load balancer may have listeners."),
  TooManyClusterPorts: buildMessageTemplate(
    `The load balancers of the cluster have as many ports together as they may have: what is served stays, and this Service gets no further ports. It is tried again every few minutes. Delete a Service or some of its ports. ${ASK}`,
  ),
  TooManyTargets: buildMessageTemplate(
    "The cluster has more nodes than a load balancer may have targets: some of them get nothing of it.",
  ),
  LoadBalancerForeign: buildMessageTemplate(
    `{field} ("{value}") names a load balancer that cannot be told to be this cluster's, and that is left alone. Take the annotation away, or name another one. ${ASK}`,
  ),
  AmbiguousLoadBalancer: buildMessageTemplate(
    `There is more than one load balancer that may be the Service's. Nothing is changed until one alone is left. ${ASK}`,
  ),
  LoadBalancerImmutable: buildMessageTemplate(
    '{field} ("{value}") asks for what cannot be changed of a load balancer that is there: all else is done. Set it back, or make another Service.',
  ),
  LoadBalancerFailed: buildMessageTemplate(
    `The cloud says that the load balancer has failed. Make another Service, or wait for it to be repaired. ${ASK}`,
  ),
  NodesWithoutPublicAddress: buildMessageTemplate(
    "No node has a public IPv4 address, and this kind of load balancer sends to no other. Set the annotation service.beta.kubernetes.io/do-loadbalancer-type to REGIONAL, or service.beta.kubernetes.io/do-loadbalancer-network to INTERNAL.",
  ),
  NodeNotUsable: buildMessageTemplate(
    `A node names an instance that cannot be told to be this cluster's, and the load balancer does not send to it. ${ASK}`,
  ),
  QuotaExceeded: buildMessageTemplate(
    `The cloud account has as many load balancers, or parts of them, as it may have, those of all its clusters together. It is tried again every few minutes. ${ASK}`,
  ),
  DeletionProtected: buildMessageTemplate(
    `The load balancer that the Service had before is protected from deletion in the cloud, and not by this controller, and stays until the protection is taken away. ${ASK}`,
  ),
  AddressInUse: buildMessageTemplate(
    '{field} ("{value}") is the address of another Service; allowed: {allowed}',
  ),
  AddressOutsidePool: buildMessageTemplate(
    '{field} ("{value}") is not of the pool of addresses; allowed: {allowed}',
  ),
  PoolExhausted: buildMessageTemplate(
    `The pool of addresses has no free one left. Delete a Service that has one and needs it no longer, or name an address. ${ASK}`,
  ),
  PoolLacksFamily: buildMessageTemplate(
    `The pool of addresses has none of the IP families of the Service. Change {field}. ${ASK}`,
  ),
  NoPool: buildMessageTemplate(
    `There is no pool of addresses for the Service: the ConfigMap with the pools is missing, or has none for its namespace. ${ASK}`,
  ),
  InvalidPool: buildMessageTemplate(
    `The ConfigMap of pools and addresses is invalid, and no address is given before it is repaired. ${ASK}`,
  ),
  LoadBalancerRefused: buildMessageTemplate(
    `The load balancer cannot be made as the Service asks for. ${ASK}`,
  ),
} as const satisfies Readonly<Record<string, MessageTemplate>>;

/** A code of the issue catalogue. */
export type IssueCode = keyof typeof ISSUES;

/** Returns the code under which an issue is reported. */
export function toIssueCode({ code }: { readonly code: string }): IssueCode {
  return Object.hasOwn(ISSUES, code) ? (code as IssueCode) : "LoadBalancerRefused";
}

/** Limits that several Services share: they resolve with time, or when another Service is deleted. */
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

/** The code of a Service that waits because other Services come first. */
export const LIMIT_REACHED = "LoadBalancerLimit";
