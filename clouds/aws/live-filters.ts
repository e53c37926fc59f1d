import type { Filter } from "@aws-sdk/client-ec2";
import type { FoundInstance } from "#clouds/aws/describe-instances.ts";
import { type AwsCluster, listClusterTagKeys } from "#clouds/aws/ownership.ts";

/**
 * Returns filters for live instances of a cluster: by VPC, tag or both; one of the two is always configured.
 * Clusters share the legacy tag's key, so `isOurs` decides on ownership.
 */
export function buildLiveFilters({ vpc, clusterTag }: AwsCluster): Filter[] {
  return [
    ...(vpc === undefined ? [] : [{ Name: "vpc-id", Values: [vpc] }]),
    ...(clusterTag === undefined ? [] : [{ Name: "tag-key", Values: listClusterTagKeys(clusterTag) }]),
    { Name: "instance-state-name", Values: LIVE_STATES },
  ];
}

/** Whether an instance is neither shutting down nor terminated. */
export function isLive({ instance }: FoundInstance): boolean {
  return LIVE_STATES.includes(instance.State?.Name ?? "");
}

const LIVE_STATES = ["pending", "running", "stopping", "stopped"];
