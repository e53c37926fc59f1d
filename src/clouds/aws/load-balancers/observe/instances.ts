import type { Instance } from "@aws-sdk/client-ec2";
import type { Outcome } from "#clouds/aws/errors.ts";
import { type Reader, readAllPages } from "#clouds/aws/load-balancers/observe/reads.ts";
import type { TargetInstance } from "#clouds/aws/load-balancers/state.ts";
import {
  type AwsCluster,
  checkResourceOwnership,
  hasClusterTags,
  hasLostOwner,
} from "#clouds/aws/ownership.ts";
import { ok } from "#clouds/outcome.ts";
import { splitIntoChunks } from "#core/chunks.ts";

/** EC2's maximum of values in a filter. */
const MAX_VALUES = 200;

/** Instances that may be targets, by id, and their VPC. */
export interface TargetInstances {
  readonly instances: Readonly<Record<string, TargetInstance>>;
  /** Ids of instances that AWS shows with another owner, or terminated and without any owner. */
  readonly excludedInstanceIds: readonly string[];
  readonly vpc: string | undefined;
}

/**
 * Reads the existing instances that belong to the cluster: a provider ID is the tenant's claim. A terminated
 * instance is included while its tags prove that it was the cluster's.
 */
export async function readTargetInstances(
  ids: readonly string[],
  cluster: AwsCluster,
  read: Reader,
): Promise<Outcome<TargetInstances>> {
  const found = await describeByIds(ids, read);
  if (found.kind === "fault") return found;
  const byOwner = Map.groupBy(found.value, (each) => classifyOwner(each, cluster));
  const ownedInstances = (byOwner.get("cluster") ?? []).toSorted((a, b) =>
    (a.InstanceId ?? "") < (b.InstanceId ?? "") ? -1 : 1,
  );
  return ok({
    instances: Object.fromEntries(
      ownedInstances.flatMap((instance) =>
        instance.InstanceId === undefined ? [] : [[instance.InstanceId, toTargetInstance(instance)]],
      ),
    ),
    excludedInstanceIds: (byOwner.get("another") ?? []).flatMap(({ InstanceId: id }) => id ?? []),
    vpc: ownedInstances.find(({ VpcId: vpc }) => vpc !== undefined)?.VpcId,
  });
}

/**
 * Returns which owner an instance shows. Another one: another VPC, or only other clusters' tags; or none any more,
 * because it is terminated. An instance that lacks the expected tag shows no owner.
 */
function classifyOwner(
  { VpcId: vpc, Tags: tags, State: state }: Instance,
  cluster: AwsCluster,
): "cluster" | "another" | "unknown" {
  const facts = { vpc, tags, isTerminated: state?.Name === "terminated" };
  if (hasLostOwner(cluster, facts)) return "another";
  if (checkResourceOwnership(cluster, facts) === undefined) return "cluster";
  const { vpc: ownVpc = vpc, clusterTag: tag = cluster.clusterName } = cluster;
  const isOfAnother = vpc !== ownVpc || (tag !== undefined && hasClusterTags(facts));
  return vpc !== undefined && isOfAnother ? "another" : "unknown";
}

/** Returns the instances that AWS shows, whatever their owner. */
export async function describeByIds(
  ids: readonly string[],
  read: Reader,
): Promise<Outcome<readonly Instance[]>> {
  const listings = await Promise.all(
    splitIntoChunks(ids, MAX_VALUES).map((chunk) =>
      readAllPages("DescribeInstances", async (next) => {
        const answer = await read("ec2:DescribeInstances", {
          Filters: [{ Name: "instance-id", Values: chunk }],
          MaxResults: 1000,
          ...(next === undefined ? {} : { NextToken: next }),
        });
        if (answer.kind === "fault") return answer;
        const { Reservations: reservations, NextToken } = answer.value;
        return ok({
          values: reservations?.flatMap(({ Instances: instances = [] }) => instances),
          next: NextToken,
        });
      }),
    ),
  );
  const all: Instance[] = [];
  for (const listing of listings) {
    if (listing.kind === "fault") return listing;
    all.push(...listing.value);
  }
  return ok(all);
}

function toTargetInstance(instance: Instance): TargetInstance {
  const primary = instance.NetworkInterfaces?.find(
    ({ Attachment: attachment }) => attachment?.DeviceIndex === 0,
  );
  // Values missing in the instance's own list are in its first interface.
  const groups = instance.SecurityGroups?.length ? instance.SecurityGroups : (primary?.Groups ?? []);
  const primaryIpv6 = primary?.Ipv6Addresses?.find(
    ({ IsPrimaryIpv6: isPrimary }) => isPrimary === true,
  )?.Ipv6Address;
  return {
    state: instance.State?.Name ?? "unknown",
    subnetId: instance.SubnetId,
    zone: instance.Placement?.AvailabilityZone,
    groupIds: groups.flatMap(({ GroupId: id }) => id ?? []),
    ...(primaryIpv6 === undefined ? {} : { primaryIpv6 }),
  };
}
