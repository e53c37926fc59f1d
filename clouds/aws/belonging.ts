import type { Tag } from "@aws-sdk/client-ec2";
import type { AwsCloudConfig } from "#clouds/aws/kind.ts";

/** The configuration of a cluster's cloud, and the cluster's name where it has one. */
export type AwsCluster = AwsCloudConfig & Pick<Ownership, "clusterName">;

/** By what a cluster knows its own; with `vpc` alone, tags of clusters count all the same where there are any. */
export interface Ownership {
  readonly vpc?: string | undefined;
  readonly clusterTag?: string | undefined;
  /** Stands in for `clusterTag` where that is not configured, but need not be there. */
  readonly clusterName?: string | undefined;
}

/** What a resource says of where it belongs. */
export interface Belongings {
  readonly vpc: string | undefined;
  readonly tags: readonly Tag[] | undefined;
  /** EC2 forgets the VPC of an instance when it is terminated; that alone does not make it somebody else's. */
  readonly terminated?: boolean;
  /** Nobody tags resources of this kind with the cluster: the VPC suffices for one without such tags, where it is configured. */
  readonly seldomTagged?: boolean;
}

/** What makes a resource not the cluster's, expected and found; undefined where it is the cluster's. */
export function foreignBecause(ownership: Ownership, belongings: Belongings): string | undefined {
  const faults = [wrongVpc(ownership, belongings), wrongTag(ownership, belongings)];
  return faults.filter((each) => each !== undefined).join("; ") || undefined;
}

/**
 * Whether a resource has ended, EC2 has forgotten its VPC, and no tag says that it was the cluster's: somebody else's may look so
 * too, and a node that names it must not find out that it was there.
 */
export function isNobodys(
  { clusterTag, clusterName }: Ownership,
  { vpc, tags = [], terminated }: Belongings,
): boolean {
  const name = clusterTag ?? clusterName;
  const isTagged = name !== undefined && tags.some((tag) => isTagOf(name, tag));
  return terminated === true && vpc === undefined && !isTagged;
}

/** The keys of the tags by which a resource may say that it is the cluster's. */
export function clusterTagKeys(name: string): string[] {
  return [`${TAG_PREFIX}${name}`, LEGACY_TAG];
}

/** Whether a resource carries tags of clusters, be it this one's or another's. */
export function hasClusterTags({ tags = [] }: Belongings): boolean {
  return tags.some(isClusterTag);
}

function isClusterTag({ Key: key }: Tag): boolean {
  return key?.startsWith(TAG_PREFIX) || key === LEGACY_TAG;
}

function wrongVpc({ vpc }: Ownership, belongings: Belongings): string | undefined {
  if (vpc === undefined || belongings.vpc === vpc) return undefined;
  if (belongings.vpc === undefined && belongings.terminated) return undefined;
  return `expected VPC ${vpc}, found ${belongings.vpc ?? "none"}`;
}

/** A resource may be shared by clusters; one that carries tags of clusters, but not ours, is theirs even in our VPC. */
function wrongTag(
  { vpc, clusterTag, clusterName }: Ownership,
  { tags = [], seldomTagged = false }: Belongings,
): string | undefined {
  const name = clusterTag ?? clusterName;
  const found = tags.filter(isClusterTag);
  if (name !== undefined && found.some((tag) => isTagOf(name, tag))) return undefined;
  const isNeeded = clusterTag !== undefined && !(seldomTagged && vpc !== undefined);
  if (found.length === 0 && !isNeeded) return undefined;
  const expected = name === undefined ? "no cluster's tag" : `tag ${TAG_PREFIX}${name}`;
  const shown = found.slice(0, MAX_SHOWN).map(({ Key: key, Value: value }) => {
    return key === LEGACY_TAG ? `${key}=${value}` : key;
  });
  const remedy = clusterTag === undefined ? ": if that is this cluster, set clusterTag" : "";
  return `expected ${expected}, found ${shown.join(", ") || "no cluster's tag"}${remedy}`;
}

/** Today's tag counts with any value (`owned`, `shared`), the legacy one with the cluster's name as its value. */
function isTagOf(name: string, { Key: key, Value: value }: Tag): boolean {
  return key === `${TAG_PREFIX}${name}` || (key === LEGACY_TAG && value === name);
}

const TAG_PREFIX = "kubernetes.io/cluster/";
const LEGACY_TAG = "KubernetesCluster";
const MAX_SHOWN = 5;
