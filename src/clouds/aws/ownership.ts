import type { Tag } from "@aws-sdk/client-ec2";
import type { AwsCloudConfig } from "#clouds/aws/config.ts";

/** The configuration of a cluster's cloud, and the cluster's name if it has one. */
export type AwsCluster = AwsCloudConfig & Pick<Ownership, "clusterName">;

/**
 * Criteria by which a cluster recognizes its resources. With `vpc` alone, cluster tags count too if a
 * resource has any.
 */
export interface Ownership {
  readonly vpc?: string | undefined;
  readonly clusterTag?: string | undefined;
  /** Replaces `clusterTag` if that is not configured; the resource may lack this tag. */
  readonly clusterName?: string | undefined;
}

/** What a resource says about its owner. */
export interface OwnershipFacts {
  readonly vpc: string | undefined;
  readonly tags: readonly Tag[] | undefined;
  /** EC2 removes the VPC of a terminated instance; that alone does not make it foreign. */
  readonly isTerminated?: boolean;
  /** Resources of this kind are seldom tagged: the configured VPC suffices for one without cluster tags. */
  readonly isSeldomTagged?: boolean;
}

/**
 * Returns the expected and the found value that prove a resource foreign; undefined if it belongs to the
 * cluster.
 */
export function checkResourceOwnership(ownership: Ownership, facts: OwnershipFacts): string | undefined {
  const faults = [checkVpc(ownership, facts), checkTag(ownership, facts)];
  return faults.filter((each) => each !== undefined).join("; ") || undefined;
}

/**
 * Whether a terminated resource has lost its VPC and has no tag of this cluster. Another cluster's resource
 * may look the same, so a node that names it must not learn that it existed.
 */
export function hasLostOwner(
  { clusterTag, clusterName }: Ownership,
  { vpc, tags = [], isTerminated }: OwnershipFacts,
): boolean {
  const name = clusterTag ?? clusterName;
  const isTagged = name !== undefined && tags.some((tag) => matchesClusterTag(name, tag));
  return isTerminated === true && vpc === undefined && !isTagged;
}

/** Returns the tag keys that can mark a resource as the cluster's. */
export function listClusterTagKeys(name: string): string[] {
  return [`${TAG_PREFIX}${name}`, LEGACY_TAG];
}

/** Whether a resource has tags of clusters, this one or others. */
export function hasClusterTags({ tags = [] }: OwnershipFacts): boolean {
  return tags.some(isClusterTag);
}

function isClusterTag({ Key: key }: Tag): boolean {
  return key?.startsWith(TAG_PREFIX) || key === LEGACY_TAG;
}

function checkVpc({ vpc }: Ownership, facts: OwnershipFacts): string | undefined {
  if (vpc === undefined || facts.vpc === vpc) return undefined;
  if (facts.vpc === undefined && facts.isTerminated) return undefined;
  return `expected VPC ${vpc}, found ${facts.vpc ?? "none"}`;
}

/**
 * Checks the tags. Clusters may share a resource; a resource with only other clusters' tags is foreign, even
 * in our VPC.
 */
function checkTag(
  { vpc, clusterTag, clusterName }: Ownership,
  { tags = [], isSeldomTagged = false }: OwnershipFacts,
): string | undefined {
  const name = clusterTag ?? clusterName;
  const found = tags.filter(isClusterTag);
  if (name !== undefined && found.some((tag) => matchesClusterTag(name, tag))) return undefined;
  const isNeeded = clusterTag !== undefined && !(isSeldomTagged && vpc !== undefined);
  if (found.length === 0 && !isNeeded) return undefined;
  const expected = name === undefined ? "no cluster's tag" : `tag ${TAG_PREFIX}${name}`;
  const foundTags = found.slice(0, MAX_LISTED).map(({ Key: key, Value: value }) => {
    return key === LEGACY_TAG ? `${key}=${value}` : key;
  });
  const remedy = clusterTag === undefined ? ": if that is this cluster, set clusterTag" : "";
  return `expected ${expected}, found ${foundTags.join(", ") || "no cluster's tag"}${remedy}`;
}

/**
 * Whether a tag matches: the current tag with any value (`owned`, `shared`), the legacy tag with the
 * cluster's name as its value.
 */
function matchesClusterTag(name: string, { Key: key, Value: value }: Tag): boolean {
  return key === `${TAG_PREFIX}${name}` || (key === LEGACY_TAG && value === name);
}

const TAG_PREFIX = "kubernetes.io/cluster/";
const LEGACY_TAG = "KubernetesCluster";
const MAX_LISTED = 5;
