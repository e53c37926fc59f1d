import type { AwsCluster } from "#clouds/aws/ownership.ts";
import type { Cluster } from "#config/cluster.ts";
import { Ec2EventRejected, type StateChange } from "#functions/parts/ec2-events/state-change.ts";

/** A cluster on AWS with its cloud configuration. */
export interface AwsEntry {
  readonly cluster: Cluster;
  readonly aws: AwsCluster;
}

/**
 * Selects the clusters of the event's account and region. Throws `Ec2EventRejected` if the account is neither
 * the function's own nor that of any cluster's role. Senders on the bus are not authenticated and must not
 * choose what is searched.
 */
export function selectClusters(
  { account, region }: StateChange,
  clusters: readonly Cluster[],
  ownAccount: string | undefined,
): readonly AwsEntry[] {
  const entries = clusters.flatMap(toAwsEntries);
  const accounts = new Set([ownAccount, ...entries.map((entry) => getAccount(entry, ownAccount))]);
  if (!accounts.has(account))
    throw new Ec2EventRejected(
      `account ${account} is neither this function's nor that of any cluster's roleArn`,
    );
  return entries.filter((entry) => entry.aws.region === region && getAccount(entry, ownAccount) === account);
}

function toAwsEntries(cluster: Cluster): AwsEntry[] {
  const { cloud, name } = cluster;
  return cloud.provider === "aws" ? [{ cluster, aws: { ...cloud, clusterName: name } }] : [];
}

/**
 * Returns the account of a cluster's role, or the function's own without a role. The account of access keys
 * is unknown.
 */
function getAccount(
  { aws: { roleArn, credentials } }: AwsEntry,
  ownAccount: string | undefined,
): string | undefined {
  if (roleArn !== undefined) return roleArn.split(":")[4];
  return credentials === undefined ? ownAccount : undefined;
}
