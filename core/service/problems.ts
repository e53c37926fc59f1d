import type { Saying } from "#core/saying.ts";

const WHEN_REFUSED = "Each time the load balancer is looked at, until it is mended.";
const ASK = "Ask whoever runs the cloud controller, whose log says more.";

/** A problem's sentence, and when it is told. */
function refused<const Sentence extends string>(sentence: Sentence) {
  return { sentence, when: WHEN_REFUSED } as const satisfies Saying;
}

/**
 * Every problem of a Service that keeps its load balancer from being as it is asked for, by code: the `code` of the `Problem`s of
 * `core/service/model.ts`, whichever cloud finds them. Sentences are fixed; of facts there is room for `{field}` and `{value}`,
 * which are the Service's own, and for `{allowed}` alone where the words are ours whatever the cloud says: of what is found out by
 * asking the cloud a code says all. A code that is not listed is told as `LoadBalancerRefused`, and its details go to the log.
 */
export const PROBLEMS = {
  InvalidAnnotation: refused('The annotation {field} is "{value}"; allowed: {allowed}'),
  UnsupportedAnnotation: refused(
    'The annotation {field} ("{value}") does not hold for this kind of load balancer; allowed: {allowed}',
  ),
  UnknownAnnotation: refused("The annotation {field} is not known; allowed: {allowed}"),
  ReservedTag: refused(
    'The annotation {field} ("{value}") names tags that are not the Service\'s to set; allowed: {allowed}',
  ),
  InvalidSourceRanges: refused('{field} says "{value}"; allowed: {allowed}'),
  InvalidField: refused('{field} is "{value}"; allowed: {allowed}'),
  NoPorts: refused("The Service has no ports, and a load balancer needs one at least."),
  NoNodePort: refused(
    "A port of the Service has no node port, which is what the load balancer sends to. Set spec.allocateLoadBalancerNodePorts to true, or name a nodePort.",
  ),
  MixedProtocols: refused(
    "The load balancer cannot serve these protocols on one Service: UDP and TCP need the same port and the same node port, and nothing else is served. Make a Service of each protocol.",
  ),
  UnsupportedProtocol: refused(
    'The protocol "{value}" of {field} is not served by this load balancer; allowed: {allowed}',
  ),
  SessionAffinity: refused(
    'spec.sessionAffinity is "{value}", which this load balancer does not do; allowed: None',
  ),
  LoadBalancerIP: refused(
    'spec.loadBalancerIP is "{value}", which this load balancer does not take; allowed: none. Addresses are chosen by annotation.',
  ),
  IPFamilies: refused(
    "The load balancer cannot serve the IP families of the Service: its network, its subnets or its nodes have no IPv6.",
  ),
  TypeChanged: refused(
    'The kind of a load balancer cannot be changed while the Service has one, and {field} ("{value}") asks for another kind. Set it back, or make another Service.',
  ),
  NoEligibleSubnet: refused(
    "No subnet of the cluster's network is fit for this load balancer. Tag one for its role, or name subnets by annotation.",
  ),
  SubnetNotFound: refused(
    "{field} (\"{value}\") names a subnet that the cluster's network does not have or that may not be used; allowed: the cluster's own, by id or by a name that one alone has.",
  ),
  SubnetsOfOneZone: refused('{field} ("{value}") names two subnets of one zone; allowed: one for each zone.'),
  SubnetsChanged: refused(
    "{field} asks for other subnets than the load balancer is in, which cannot be done in place. Set it back, or make another Service.",
  ),
  NoNodeSecurityGroup: refused(
    `No security group of the nodes can be told to be the cluster's: nothing lets the load balancer reach them. ${ASK}`,
  ),
  AmbiguousNodeSecurityGroup: refused(
    `More than one security group of a node is tagged as the cluster's: it cannot be told which is to let the load balancer in. ${ASK}`,
  ),
  NodeSecurityGroupNotProven: refused(
    `A security group of the nodes cannot be told to be this cluster's alone: rules for load balancers stay on it as they are, and none is added or removed. ${ASK}`,
  ),
  SecurityGroupNotAllowed: refused(
    `{field} ("{value}") names a security group that is not there or may not be used; allowed: the cluster's own, and what its operator allows. ${ASK}`,
  ),
  CertificateNotUsable: refused(
    `{field} ("{value}") names a certificate that is not there or that may not be used; allowed: what the cluster's operator allows. ${ASK}`,
  ),
  ElasticIPsNotUsable: refused(
    `{field} ("{value}") names Elastic IP addresses that are not there, are in use or may not be used; allowed: free ones that are the cluster's own, or that its operator allows. ${ASK}`,
  ),
  ReservedIPNotUsable: refused(
    `{field} ("{value}") is no reserved public IP address that is there, is free and may be used; allowed: one of the cluster's own. ${ASK}`,
  ),
  SecretsNotRead: refused(
    'The annotation {field} ("{value}") asks for a certificate of a Secret, and this controller reads no Secrets; allowed: {allowed}. Let TLS end in the cluster.',
  ),
  SecurityLists: refused(
    `The rules of this load balancer would be kept in security lists of whole subnets, which this controller does not edit, as {field} says "{value}" or nothing; allowed: {allowed}. ${ASK}`,
  ),
  ElasticIPsOfOtherCount: refused(
    '{field} ("{value}") does not name as many addresses as the load balancer has subnets; allowed: one for each.',
  ),
  BucketNotUsable: refused(
    `{field} ("{value}") names a bucket that the load balancer may not write to, or that may not be used; allowed: what the cluster's operator allows. ${ASK}`,
  ),
  NotAllowed: refused(`{field} ("{value}") asks for something that may not be used in this cluster. ${ASK}`),
  NameTaken: refused(
    `A load balancer or another resource of the name that follows from the Service is there already, and is not the Service's. ${ASK}`,
  ),
  TooManyRules: refused(
    "The Service's ports and source ranges make more rules than a security group may have. Name fewer networks, or fewer ports.",
  ),
  TooManyNodeRules: refused(
    `The security group of the cluster's nodes has as many rules as it may have, those of all Services of the cluster together: this Service's do not fit. It is tried again every few minutes. Delete a Service, or ask whoever runs the cloud controller to raise the quota of rules of a security group.`,
  ),
  TooManyPorts: refused("The Service has more ports than a load balancer may have listeners."),
  TooManyClusterPorts: refused(
    `The load balancers of the cluster have as many ports together as they may have: what is served stays, and this Service gets no further ports. It is tried again every few minutes. Delete a Service or some of its ports. ${ASK}`,
  ),
  TooManyTargets: refused(
    "The cluster has more nodes than a load balancer may have targets: some of them get nothing of it.",
  ),
  LoadBalancerForeign: refused(
    `{field} ("{value}") names a load balancer that cannot be told to be this cluster's, and that is left alone. Take the annotation away, or name another one. ${ASK}`,
  ),
  AmbiguousLoadBalancer: refused(
    `There is more than one load balancer that may be the Service's. Nothing is changed until one alone is left. ${ASK}`,
  ),
  LoadBalancerImmutable: refused(
    '{field} ("{value}") asks for what cannot be changed of a load balancer that is there: all else is done. Set it back, or make another Service.',
  ),
  LoadBalancerFailed: refused(
    `The cloud says that the load balancer has failed. Make another Service, or wait for it to be repaired. ${ASK}`,
  ),
  NodesWithoutPublicAddress: refused(
    "No node has a public IPv4 address, and this kind of load balancer sends to no other. Set the annotation service.beta.kubernetes.io/do-loadbalancer-type to REGIONAL, or service.beta.kubernetes.io/do-loadbalancer-network to INTERNAL.",
  ),
  NodeNotUsable: refused(
    `A node names an instance that cannot be told to be this cluster's, and the load balancer does not send to it. ${ASK}`,
  ),
  QuotaExceeded: refused(
    `The cloud account has as many load balancers, or parts of them, as it may have, those of all its clusters together. It is tried again every few minutes. ${ASK}`,
  ),
  DeletionProtected: refused(
    `The load balancer that the Service had before is protected from deletion in the cloud, by somebody else than this controller, and stays until the protection is taken away. ${ASK}`,
  ),
  AddressInUse: refused('{field} ("{value}") is the address of another Service; allowed: {allowed}'),
  AddressOutsidePool: refused('{field} ("{value}") is not of the pool of addresses; allowed: {allowed}'),
  PoolExhausted: refused(
    `The pool of addresses has no free one left. Delete a Service that has one and needs it no longer, or name an address. ${ASK}`,
  ),
  PoolLacksFamily: refused(
    `The pool of addresses has none of the IP families of the Service. Change {field}. ${ASK}`,
  ),
  NoPool: refused(
    `There is no pool of addresses for the Service: the ConfigMap with the pools is not there, or has none for its namespace. ${ASK}`,
  ),
  InvalidPool: refused(
    `What the ConfigMap says of pools and addresses cannot be read, and no address is given before that is mended. ${ASK}`,
  ),
  LoadBalancerRefused: refused(`The load balancer cannot be made as the Service asks for. ${ASK}`),
} as const satisfies Readonly<Record<string, Saying>>;

/** A code of the catalogue. */
export type ProblemCode = keyof typeof PROBLEMS;

/** The code under which a problem is told. */
export function toldCodeOf({ code }: { readonly code: string }): ProblemCode {
  return Object.hasOwn(PROBLEMS, code) ? (code as ProblemCode) : "LoadBalancerRefused";
}

/** Problems that time mends, or the end of another Service: limits that several Services share. */
const SHARED_LIMITS: ReadonlySet<ProblemCode> = new Set([
  "PoolExhausted",
  "QuotaExceeded",
  "TooManyClusterPorts",
  "TooManyNodeRules",
]);

/** Whether a problem is a limit that the Service shares with others, so that it may fit in without being changed. */
export function isSharedLimit(problem: { readonly code: string }): boolean {
  return SHARED_LIMITS.has(toldCodeOf(problem));
}

/** The code of a Service whose load balancer the cloud is still at. */
export const IN_PROGRESS = "LoadBalancerInProgress";

/** The code of a Service that others come before. */
export const LIMIT_REACHED = "LoadBalancerLimit";
