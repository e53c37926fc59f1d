import type { AwsLoadBalancerState, Pairs } from "#clouds/aws/load-balancers/state.ts";

/** The tags by which resources say whose they are. */
export const CLUSTER_TAG_PREFIX = "kubernetes.io/cluster/";
export const LEGACY_TAG = "KubernetesCluster";
/** The tag that says of which Service a resource is. */
export const SERVICE_TAG = "kubernetes.io/service-name";

/**
 * Resources without the cluster's tag that the operator lists under `cloud.allow`. Services may name them in annotations, except
 * `nodeSecurityGroups`: there the controller may change rules.
 */
export interface AllowedResources {
  readonly securityGroups: readonly AllowedResource[];
  readonly subnets: readonly AllowedResource[];
  readonly elasticIPs: readonly AllowedResource[];
  readonly certificates: readonly AllowedResource[];
  readonly buckets: readonly AllowedResource[];
  readonly nodeSecurityGroups: readonly AllowedResource[];
  /** Keys of tags that annotations may set, by name or with `*` at the end; all but those of controllers where nothing is said. */
  readonly tagKeys?: readonly string[] | undefined;
}

/** What annotations may name of it. */
export type NamedKind = Exclude<keyof AllowedResources, "nodeSecurityGroups" | "tagKeys">;

/** A resource by its id, ARN or name (`*` at the end stands for any rest), or all that carry a tag, with any value where none is given. */
export type AllowedResource = string | { readonly tag: string; readonly value?: string | undefined };

/** A resource, with its tags where AWS is asked for them: those of certificates and buckets are not. */
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

/** How the configuration tells the cluster's resources: by their VPC, by their tag, or by both. */
export interface OwnershipMode {
  readonly vpc?: string | undefined;
  readonly clusterTag?: string | undefined;
}

/** What tells a cluster's resources from all others: `clusterTag` is the configured one, or the cluster's name. */
export interface ClusterIdentity {
  readonly clusterTag: string;
  readonly allow: AllowedResources;
}

/**
 * Whose a resource is by its tags: this Service's; another Service's of the cluster; nobody's, as it names no cluster; or another's,
 * which is another cluster's, or one that our cluster shares and may not change.
 */
export type Ownership = "service" | "cluster" | "nobody" | "another";

/** Returns whose a resource is by its tags. */
export function checkOwnership(tags: Pairs, { namespace, name, clusterTag }: ServiceIdentity): Ownership {
  if (isMadeForCluster(tags, clusterTag))
    return tags[SERVICE_TAG] === `${namespace}/${name}` ? "service" : "cluster";
  return hasClusterTag(tags) ? "another" : "nobody";
}

/** Whether a load balancer or target group was made for the cluster, by today's tag or by the legacy one. */
export function isMadeForCluster(tags: Pairs, clusterTag: string): boolean {
  const value = tags[`${CLUSTER_TAG_PREFIX}${clusterTag}`];
  return value === "owned" || (value === undefined && tags[LEGACY_TAG] === clusterTag);
}

/** Whether a resource carries the cluster's tag, with any value, or the legacy one. */
export function isOfCluster(tags: Pairs, clusterTag: string): boolean {
  return tags[`${CLUSTER_TAG_PREFIX}${clusterTag}`] !== undefined || tags[LEGACY_TAG] === clusterTag;
}

/** Whether a resource was made for the cluster, by us or by the stock controller: only such are ever changed or deleted. */
export function isOwned(tags: Pairs, clusterTag: string): boolean {
  return tags[`${CLUSTER_TAG_PREFIX}${clusterTag}`] === "owned";
}

/** Whether a resource carries tags of any cluster. */
export function hasClusterTag(tags: Pairs): boolean {
  return Object.keys(tags).some((key) => key.startsWith(CLUSTER_TAG_PREFIX) || key === LEGACY_TAG);
}

/** Whether a resource carries tags of clusters, and none of this one. */
export function isOfAnotherCluster(tags: Pairs, clusterTag: string): boolean {
  return hasClusterTag(tags) && !isOfCluster(tags, clusterTag);
}

/** Whether a Service may have its load balancer use a resource: it carries the cluster's tag, or the operator lists it. */
export function isAllowed(
  kind: NamedKind,
  resource: NamedResource,
  { clusterTag, allow }: ClusterIdentity,
): boolean {
  return isOfCluster(resource.tags ?? {}, clusterTag) || isListed(resource, allow[kind]);
}

/** A load balancer of a Service's derived name. */
export interface NamedLoadBalancer {
  readonly tags: Pairs;
  readonly vpc: string | undefined;
}

/**
 * Whether a load balancer of the Service's derived name may be changed and deleted for the Service. A tenant can forge the uid that
 * the name is made of, so that the tags decide. Without any cluster's tag it is the cluster's only where the configured VPC, which
 * holds it, is all that tells the cluster's resources.
 */
export function isOwnLoadBalancer(
  { tags, vpc }: NamedLoadBalancer,
  owner: ServiceIdentity,
  configuration: OwnershipMode,
): boolean {
  const ownership = checkOwnership(tags, owner);
  if (ownership !== "nobody") return ownership !== "another";
  const isVpcOurs = configuration.clusterTag === undefined && configuration.vpc !== undefined;
  return isVpcOurs && vpc === configuration.vpc && UUID.test(owner.uid);
}

/** As the API server makes uids. */
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

/** The load balancers of the Service's derived name, of either kind, whoever they belong to. */
function listNamed({ network, classic }: AwsLoadBalancerState): readonly NamedLoadBalancer[] {
  return [
    ...(network === undefined ? [] : [{ tags: network.tags, vpc: network.loadBalancer.VpcId }]),
    ...(classic === undefined ? [] : [{ tags: classic.tags, vpc: classic.loadBalancer.VPCId }]),
  ];
}

/**
 * Whether the load balancers of the Service's derived name, of either kind, are somebody else's: the uid, of which more names are made,
 * is then not believed at all.
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
  /** Every network interface that has it belongs to an instance with the cluster's tag, as the cloud shows them all. */
  readonly isOnNodesAlone?: boolean | undefined;
}

/**
 * Whether rules of load balancers are read, made and removed in a security group: it carries the cluster's tag, or the operator lists it
 * under `allow.nodeSecurityGroups`, or it names no cluster and only instances of the cluster have it.
 */
export function isNodeSecurityGroup(
  { id, tags = {}, isOnNodesAlone = false }: NodeSecurityGroup,
  { clusterTag, allow }: ClusterIdentity,
): boolean {
  if (isOfCluster(tags, clusterTag) || isListed({ id, tags }, allow.nodeSecurityGroups)) return true;
  return isOnNodesAlone && !hasClusterTag(tags);
}

/** What tells the subnets in which a load balancer may be made. */
export interface SubnetIdentity extends ClusterIdentity {
  /** Whether `vpc` is configured: the subnets of it that name no cluster may be chosen then. */
  readonly isVpcConfigured: boolean;
  /** The configured `subnetID`. */
  readonly fallbackId: string | undefined;
  /** Subnets that the Service's own load balancer is in already. */
  readonly attachedIds: readonly string[];
}

/** Whether an annotation may name a subnet: tagged, listed, configured, or one that the Service's load balancer is in already. */
export function isNameableSubnet(subnet: NamedResource, identity: SubnetIdentity): boolean {
  const isKnown = subnet.id === identity.fallbackId || identity.attachedIds.includes(subnet.id);
  return isKnown || isAllowed("subnets", subnet, identity);
}

/** Whether a subnet may be chosen where no annotation names one: never another cluster's. */
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
