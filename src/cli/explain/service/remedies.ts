import type { CapabilityErrorCode } from "#core/capability.ts";
import type { IssueCode } from "#core/service/issues.ts";

/** Codes that come from decisions on a Service themselves or from a failed invocation. */
type OtherCode =
  | "Elsewhere"
  | "LoadBalancerInProgress"
  | "LoadBalancerLimit"
  | "NodesStale"
  | "NodesUnknown"
  | "NotSupported";

const AGAIN = "none: it is retried automatically";
const ANNOTATION = "set the annotation to what is allowed, or take it away";
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
  LoadBalancerIP: "take spec.loadBalancerIP away, and name addresses by annotation",
  IPFamilies: "give the subnets, and the nodes, IPv6; or make the Service single-stack IPv4",
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
    "find the owner of the load balancer with that name; delete it, or recreate the Service, which gives it another name",
  TooManyRules:
    "name fewer networks or ports, or have the account's quota of rules raised; cloud.sharedBackendSecurityGroup needs one rule for all",
  TooManyPorts: "make several Services of it",
  TooManyTargets:
    "narrow the nodes down, with the annotation that selects targets by label or with the label that excludes nodes",
  LoadBalancerForeign:
    "take the annotation away; or tag the load balancer with the cluster's tag in the cloud, such as k8s:<clusterID>, if it is the cluster's",
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
  NotSupported: "run the controller of that cloud's vendor for Services",
};

/**
 * Returns what to do about a decision on a Service, by its code; undefined if there is nothing to do or the
 * code is unknown.
 */
export function findServiceRemedy(code: string): string | undefined {
  return Object.hasOwn(REMEDIES, code) ? REMEDIES[code as keyof typeof REMEDIES] : undefined;
}
