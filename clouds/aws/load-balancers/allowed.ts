import type { Pairs } from "#clouds/aws/load-balancers/state.ts";

/** What of others Services may name in their annotations, as the operator has it under `cloud.allow`: ids, ARNs, names, or tags. */
export interface AllowedResources {
  readonly securityGroups: readonly AllowedResource[];
  readonly subnets: readonly AllowedResource[];
  readonly elasticIPs: readonly AllowedResource[];
  readonly certificates: readonly AllowedResource[];
  readonly buckets: readonly AllowedResource[];
}

/**
 * One of them by its id, ARN or name, or all whose begins so where it ends in `*`; or all that carry a tag, without a value
 * whatever it says.
 */
export type AllowedResource = string | { readonly tag: string; readonly value?: string | undefined };

/** A resource that an annotation names. `tags` where they can be seen: those of certificates and buckets are not asked for. */
export interface NamedResource {
  readonly id: string;
  readonly tags?: Pairs | undefined;
}

/** Whether a Service may have its load balancer use a resource: it is the cluster's own by its tag, or the operator allows it. */
export function isAllowed(
  kind: keyof AllowedResources,
  { id, tags = {} }: NamedResource,
  { clusterTag, allow }: { readonly clusterTag: string; readonly allow: AllowedResources },
): boolean {
  if (isOfCluster(tags, clusterTag)) return true;
  return allow[kind].some((each) => {
    if (typeof each === "string") return each.endsWith("*") ? id.startsWith(each.slice(0, -1)) : each === id;
    const value = tags[each.tag];
    return value !== undefined && (each.value === undefined || each.value === value);
  });
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

/** Of the tags by which resources say whose they are. */
export const CLUSTER_TAG_PREFIX = "kubernetes.io/cluster/";
export const LEGACY_TAG = "KubernetesCluster";
