import type { Tag } from "@aws-sdk/client-ec2";
import type { AwsCloudConfig } from "#clouds/aws/kind.ts";

/** By what a cluster knows its own. */
export type Ownership = Pick<AwsCloudConfig, "vpc" | "clusterTag">;

/** What a resource says of where it belongs. */
export interface Belongings {
  readonly vpc: string | undefined;
  readonly tags: readonly Tag[] | undefined;
  /** EC2 forgets the VPC of an instance when it is terminated; that alone does not make it somebody else's. */
  readonly terminated?: boolean;
}

/** What makes a resource not the cluster's, expected and found; undefined where it is the cluster's. */
export function foreignBecause(ownership: Ownership, belongings: Belongings): string | undefined {
  const faults = [wrongVpc(ownership, belongings), missingTag(ownership, belongings)];
  return faults.filter((each) => each !== undefined).join("; ") || undefined;
}

function wrongVpc({ vpc }: Ownership, belongings: Belongings): string | undefined {
  if (vpc === undefined || belongings.vpc === vpc) return undefined;
  if (belongings.vpc === undefined && belongings.terminated) return undefined;
  return `expected VPC ${vpc}, found ${belongings.vpc ?? "none"}`;
}

/** Today's tag counts with any value (`owned`, `shared`), the legacy one with the cluster's name as its value. */
function missingTag({ clusterTag }: Ownership, { tags = [] }: Belongings): string | undefined {
  if (clusterTag === undefined) return undefined;
  const key = `${TAG_PREFIX}${clusterTag}`;
  const carries = tags.some((tag) => tag.Key === key || (tag.Key === LEGACY_TAG && tag.Value === clusterTag));
  if (carries) return undefined;
  const found = tags
    .filter((tag) => tag.Key?.startsWith(TAG_PREFIX) || tag.Key === LEGACY_TAG)
    .map((tag) => (tag.Key === LEGACY_TAG ? `${tag.Key}=${tag.Value}` : tag.Key));
  return `expected tag ${key}, found ${found.slice(0, 5).join(", ") || "no cluster's tag"}`;
}

const TAG_PREFIX = "kubernetes.io/cluster/";
const LEGACY_TAG = "KubernetesCluster";
