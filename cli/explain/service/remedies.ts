import type { CapabilityErrorCode } from "#core/capability.ts";
import type { ProblemCode } from "#core/service/problems.ts";

/** Whatever a decision on a Service says by itself, or an invocation of it. */
type OtherCode =
  | "Elsewhere"
  | "LoadBalancerInProgress"
  | "LoadBalancerLimit"
  | "NodesStale"
  | "NodesUnknown"
  | "NotSupported";

const AGAIN = "none: it is tried again by itself";
const ANNOTATION = "set the annotation to what is allowed, or take it away";
const FIELD = "set the field to what is allowed";
const ALLOW = "name one of the cluster's own, or let the operator add it to cloud.allow";
const NODE_GROUPS =
  "tag exactly one security group of each node's instance kubernetes.io/cluster/<clusterTag>; serverless-ccm doctor says of which instances that does not hold";

const REMEDIES: Readonly<Record<ProblemCode | CapabilityErrorCode | OtherCode, string>> = {
  InvalidAnnotation: ANNOTATION,
  UnsupportedAnnotation: ANNOTATION,
  UnknownAnnotation: ANNOTATION,
  ReservedTag: "take the tags out of the annotation: they say whose a resource is",
  InvalidSourceRanges: FIELD,
  InvalidField: FIELD,
  NoPorts: "give the Service a port",
  NoNodePort: "set spec.allocateLoadBalancerNodePorts to true, or name a nodePort for each port",
  MixedProtocols:
    "make a Service of each protocol, or give TCP and UDP the same port and nodePort on a network load balancer",
  UnsupportedProtocol: FIELD,
  SessionAffinity: "set spec.sessionAffinity to None",
  LoadBalancerIP: "take spec.loadBalancerIP away, and name addresses by annotation",
  IPFamilies: "give the subnets, and the nodes, IPv6; or make the Service single-stack IPv4",
  TypeChanged: "set it back, make another Service, or let the operator set cloud.replaceOnTypeChange",
  NoEligibleSubnet:
    "tag a subnet of each zone kubernetes.io/cluster/<clusterTag>, and kubernetes.io/role/elb or kubernetes.io/role/internal-elb; serverless-ccm doctor says which are eligible",
  SubnetNotFound: ALLOW,
  SubnetsOfOneZone: "name one subnet of each zone",
  SubnetsChanged: "set the annotation back, or make another Service",
  NoNodeSecurityGroup: NODE_GROUPS,
  AmbiguousNodeSecurityGroup: NODE_GROUPS,
  NodeSecurityGroupNotProven:
    "tag each security group of nodes kubernetes.io/cluster/<clusterTag>, or list its id in cloud.allow.nodeSecurityGroups; serverless-ccm doctor names the groups",
  SecurityGroupNotAllowed: ALLOW,
  CertificateNotUsable: ALLOW,
  ElasticIPsNotUsable: ALLOW,
  ElasticIPsOfOtherCount: "name one Elastic IP address for each subnet",
  ReservedIPNotUsable:
    "give the address the free-form tag serverless-ccm-cluster with the cluster's name, and free it of what has it",
  SecretsNotRead:
    "let TLS end in the cluster, such as at an ingress controller, and take the annotation away",
  SecurityLists:
    "set the annotation to NSG or None, or loadBalancer.securityListManagementMode of the cluster's cloud for all Services",
  BucketNotUsable: "let the load balancer write to the bucket, by its policy, and add it to cloud.allow",
  NotAllowed: ALLOW,
  NameTaken:
    "see whose the load balancer of that name is; delete it, or make the Service anew, which gives it another name",
  TooManyRules:
    "name fewer networks or ports, or have the account's quota of rules raised; cloud.sharedBackendSecurityGroup needs one rule for all",
  TooManyPorts: "make several Services of it",
  TooManyTargets:
    "narrow the nodes down, with the annotation that selects targets by label or with the label that excludes nodes",
  LoadBalancerForeign:
    "take the annotation away; or tag the load balancer with the cluster's tag in the cloud, such as k8s:<clusterID>, if it is the cluster's",
  AmbiguousLoadBalancer: "delete all but one in the cloud, or name one by the annotation of its id",
  LoadBalancerImmutable: "set it back, or make another Service",
  LoadBalancerFailed: "see what the cloud says of it; delete the Service and make it anew",
  NodesWithoutPublicAddress:
    "set the type to REGIONAL or the network to INTERNAL, by annotation, or give nodes public addresses",
  NodeNotUsable:
    "see which node it is in the function's log, and whether its instance is in the configured network and carries the configured tag",
  TooManyClusterPorts:
    "delete a Service or some of its ports, or raise loadBalancers.maxPorts of the cluster's entry",
  TooManyNodeRules:
    "delete a Service, or have the account's quota of rules of a security group raised; the group of the nodes holds the rules of all Services of the cluster",
  QuotaExceeded:
    "have the account's quota raised; serverless-ccm doctor says how many load balancers there are",
  DeletionProtected:
    "set the load balancer's attribute deletion_protection.enabled to false, or delete it by hand",
  AddressInUse: "name an address that no other Service has, or none",
  AddressOutsidePool: "name an address of the pool, or let the operator set cloud.outsidePool to allow",
  PoolExhausted: "delete a Service that needs its address no longer, or make the pool larger",
  PoolLacksFamily: "change spec.ipFamilies, or give the pool addresses of that family",
  NoPool: "make the ConfigMap that cloud.namespace and cloud.configMap name, with a pool for this namespace",
  InvalidPool: "mend the ConfigMap; the line above says what of it cannot be read",
  LoadBalancerRefused: "see what the function's log says of the action, with AWS's request id",
  Throttled: "none: it is tried again; others spend the account's quotas where this lasts",
  Denied: "give the functions' credentials what they need (docs/reference/aws-permissions.md)",
  Invalid: "see what the function's log says of the request",
  Unavailable: "none: it is tried again; serverless-ccm doctor says whether the cloud answers at all",
  Aborted: AGAIN,
  Elsewhere: "none here: see the controller of that class, or take class or annotation away",
  LoadBalancerInProgress: "none: the cloud is at it, and it is looked at again by itself",
  LoadBalancerLimit:
    "delete a Service with a load balancer, or raise loadBalancers.max of the cluster's entry",
  NodesStale: AGAIN,
  NodesUnknown: AGAIN,
  NotSupported: "run the controller of that cloud's vendor for Services",
};

/** What to do about a decision on a Service, by its code; undefined where nothing is to be done, or nothing is known. */
export function serviceRemedyOf(code: string): string | undefined {
  return Object.hasOwn(REMEDIES, code) ? REMEDIES[code as keyof typeof REMEDIES] : undefined;
}
