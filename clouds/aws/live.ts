import type { Filter } from "@aws-sdk/client-ec2";
import { type AwsCluster, clusterTagKeys } from "#clouds/aws/belonging.ts";
import type { Found } from "#clouds/aws/describe-instances.ts";

/**
 * Filters for live instances where a cluster has its own: in the VPC, with the tag, or both, as one of the two is always configured.
 * The legacy tag's key is every cluster's; whose an instance is, `isOurs` says.
 */
export function liveFilters({ vpc, clusterTag }: AwsCluster): Filter[] {
  return [
    ...(vpc === undefined ? [] : [{ Name: "vpc-id", Values: [vpc] }]),
    ...(clusterTag === undefined ? [] : [{ Name: "tag-key", Values: clusterTagKeys(clusterTag) }]),
    { Name: "instance-state-name", Values: LIVE_STATES },
  ];
}

/** Whether an instance is there: neither shutting down nor ended. */
export function isLive({ instance }: Found): boolean {
  return LIVE_STATES.includes(instance.State?.Name ?? "");
}

const LIVE_STATES = ["pending", "running", "stopping", "stopped"];
