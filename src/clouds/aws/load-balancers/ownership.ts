import type { AwsLoadBalancerState, Pairs } from "#clouds/aws/load-balancers/state.ts";

/** Prefix of the tags that name the cluster of a resource. */
export const CLUSTER_TAG_PREFIX = "kubernetes.io/cluster/";
export const LEGACY_TAG = "KubernetesCluster";
/** The tag that names the Service of a resource. */
export const SERVICE_TAG = "kubernetes.io/service-name";

/**
 * Resources without the cluster's tag that the operator lists under `cloud.allow`. Services may name them in
 * annotations, except `nodeSecurityGroups`: there the controller may change rules.
 */
export interface AllowedResources {
  readonly securityGroups: readonly AllowedResource[];
  readonly subnets: readonly AllowedResource[];
  readonly elasticIPs: readonly AllowedResource[];
  readonly certificates: readonly AllowedResource[];
  readonly buckets: readonly AllowedResource[];
  readonly nodeSecurityGroups: readonly AllowedResource[];
  /**
   * Keys of tags that annotations may set, by name or with a trailing `*`; by default all except those of
   * controllers.
   */
  readonly tagKeys?: readonly string[] | undefined;
}

/** The kinds that annotations may name. */
export type NamedKind = Exclude<keyof AllowedResources, "nodeSecurityGroups" | "tagKeys">;

/**
 * A resource by id, ARN or name (a trailing `*` matches any suffix), or all resources with a tag, with any
 * value if none is given.
 */
export type AllowedResource = string | { readonly tag: string; readonly value?: string | undefined };

/** A resource, with its tags if they are read; tags of certificates and buckets are not. */
export interface NamedResource {
  readonly id: string;
  readonly tags?: Pairs | undefined;
}

/** The Service that a resource may belong to, and its cluster. */
export interface ServiceIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly clusterTag: string;
}

/** How the configuration identifies the cluster's resources: by VPC, by tag, or by both. */
export interface OwnershipMode {
  readonly vpc?: string | undefined;
  readonly clusterTag?: string | undefined;
}

/**
 * Criteria that tell a cluster's resources from all others: `clusterTag` is the configured one, or the
 * cluster's name.
 */
export interface ClusterIdentity {
  readonly clusterTag: string;
  readonly allow: AllowedResources;
}

/**
 * The owner of a resource by its tags. `service`: this Service. `cluster`: another Service of the cluster.
 * `unclaimed`: no cluster is named. `another`: another cluster, or one that our cluster shares and may not
 * change.
 */
export type Ownership = "service" | "cluster" | "unclaimed" | "another";

/** Returns the owner of a resource by its tags. */
export function checkOwnership(tags: Pairs, { namespace, name, clusterTag }: ServiceIdentity): Ownership {
  if (isMadeForCluster(tags, clusterTag))
    return tags[SERVICE_TAG] === `${namespace}/${name}` ? "service" : "cluster";
  return hasClusterTag(tags) ? "another" : "unclaimed";
}

/**
 * Whether a load balancer or target group was created for the cluster, by the current tag or the legacy one.
 */
export function isMadeForCluster(tags: Pairs, clusterTag: string): boolean {
  const value = tags[`${CLUSTER_TAG_PREFIX}${clusterTag}`];
  return value === "owned" || (value === undefined && tags[LEGACY_TAG] === clusterTag);
}

/** Whether a resource has the cluster's tag, with any value, or the legacy one. */
export function isOfCluster(tags: Pairs, clusterTag: string): boolean {
  return tags[`${CLUSTER_TAG_PREFIX}${clusterTag}`] !== undefined || tags[LEGACY_TAG] === clusterTag;
}

/**
 * Whether a resource was created for the cluster, by us or by the stock controller: only such resources are
 * changed or deleted.
 */
export function isOwned(tags: Pairs, clusterTag: string): boolean {
  return tags[`${CLUSTER_TAG_PREFIX}${clusterTag}`] === "owned";
}

/** Whether a resource has tags of any cluster. */
export function hasClusterTag(tags: Pairs): boolean {
  return Object.keys(tags).some((key) => key.startsWith(CLUSTER_TAG_PREFIX) || key === LEGACY_TAG);
}

/** Whether a resource has tags of clusters, but none of this one. */
export function isOfAnotherCluster(tags: Pairs, clusterTag: string): boolean {
  return hasClusterTag(tags) && !isOfCluster(tags, clusterTag);
}

/** Describes a resource that a Service may not use: it has not the cluster's tag, and is not in `cloud.allow`. */
export function describeNotAllowed(clusterTag: string, key: string): string {
  return `neither tagged ${CLUSTER_TAG_PREFIX}${clusterTag} nor in cloud.allow.${key}`;
}

/**
 * Whether a Service's load balancer may use a resource: it has the cluster's tag, or the operator lists it.
 */
export function isAllowed(
  kind: NamedKind,
  resource: NamedResource,
  { clusterTag, allow }: ClusterIdentity,
): boolean {
  return isOfCluster(resource.tags ?? {}, clusterTag) || isListed(resource, allow[kind]);
}

/** A load balancer with a Service's derived name. */
export interface NamedLoadBalancer {
  readonly tags: Pairs;
  readonly vpc: string | undefined;
}

/**
 * Whether the load balancer of the Service's derived name may be changed and deleted for the Service. The
 * tags decide, because a tenant can forge the uid in the name. Without any cluster tag it counts as the
 * cluster's only if it is in the configured VPC and the VPC alone identifies the cluster's resources.
 */
export function isOwnLoadBalancer(
  { tags, vpc }: NamedLoadBalancer,
  owner: ServiceIdentity,
  configuration: OwnershipMode,
): boolean {
  const ownership = checkOwnership(tags, owner);
  if (ownership !== "unclaimed") return ownership !== "another";
  const isVpcOurs = configuration.clusterTag === undefined && configuration.vpc !== undefined;
  return isVpcOurs && vpc === configuration.vpc && UUID.test(owner.uid);
}

/** The format of uids from the API server. */
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

/** Returns the load balancers of the Service's derived name, of either type, whatever their owner. */
function listNamed({ network, classic }: AwsLoadBalancerState): readonly NamedLoadBalancer[] {
  return [
    ...(network === undefined ? [] : [{ tags: network.tags, vpc: network.loadBalancer.VpcId }]),
    ...(classic === undefined ? [] : [{ tags: classic.tags, vpc: classic.loadBalancer.VPCId }]),
  ];
}

/**
 * Whether the load balancers of the Service's derived name, of either type, belong to another owner. The uid,
 * which other names use too, is then not trusted at all.
 */
export function isNameForeign(
  state: AwsLoadBalancerState,
  owner: ServiceIdentity,
  configuration: OwnershipMode,
): boolean {
  const named = listNamed(state);
  return named.length > 0 && !named.some((each) => isOwnLoadBalancer(each, owner, configuration));
}

/** A security group that instances of nodes may have. */
export interface NodeSecurityGroup extends NamedResource {
  /**
   * Every network interface with this group belongs to an instance with the cluster's tag, and the cloud
   * shows all of them.
   */
  readonly isOnNodesAlone?: boolean | undefined;
}

/**
 * Whether rules of load balancers are read, added and removed in a security group. It has the cluster's tag,
 * or `allow.nodeSecurityGroups` lists it, or it names no cluster and only instances of the cluster have it.
 */
export function isNodeSecurityGroup(
  { id, tags = {}, isOnNodesAlone = false }: NodeSecurityGroup,
  { clusterTag, allow }: ClusterIdentity,
): boolean {
  if (isOfCluster(tags, clusterTag) || isListed({ id, tags }, allow.nodeSecurityGroups)) return true;
  return isOnNodesAlone && !hasClusterTag(tags);
}

/** Criteria for the subnets in which a load balancer may be created. */
export interface SubnetIdentity extends ClusterIdentity {
  /** Whether `vpc` is configured: its subnets that name no cluster may then be chosen. */
  readonly isVpcConfigured: boolean;
  /** The configured `subnetID`. */
  readonly fallbackId: string | undefined;
  /** Subnets that the Service's own load balancer already has. */
  readonly attachedIds: readonly string[];
}

/**
 * Whether an annotation may name a subnet: tagged, listed, configured, or already used by the Service's load
 * balancer.
 */
export function isNameableSubnet(subnet: NamedResource, identity: SubnetIdentity): boolean {
  const isKnown = subnet.id === identity.fallbackId || identity.attachedIds.includes(subnet.id);
  return isKnown || isAllowed("subnets", subnet, identity);
}

/** Whether a subnet may be chosen if no annotation names one; another cluster's never may. */
export function isEligibleSubnet(subnet: NamedResource, identity: SubnetIdentity): boolean {
  const { tags = {} } = subnet;
  if (isOfCluster(tags, identity.clusterTag)) return true;
  const isKnown = identity.attachedIds.includes(subnet.id) || isListed(subnet, identity.allow.subnets);
  return !hasClusterTag(tags) && (identity.isVpcConfigured || isKnown);
}

function isListed({ id, tags = {} }: NamedResource, list: readonly AllowedResource[]): boolean {
  return list.some((each) => {
    if (typeof each === "string") return each.endsWith("*") ? id.startsWith(each.slice(0, -1)) : each === id;
    const value = tags[each.tag];
    return value !== undefined && (each.value === undefined || each.value === value);
  });
}
