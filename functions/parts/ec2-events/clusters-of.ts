import type { AwsCluster } from "#clouds/aws/belonging.ts";
import type { Cluster } from "#config/cluster.ts";
import { Ec2EventRejected, type StateChange } from "#functions/parts/ec2-events/state-change.ts";

/** A cluster on AWS, and how its cloud is configured. */
export interface AwsEntry {
  readonly cluster: Cluster;
  readonly aws: AwsCluster;
}

/**
 * The clusters of the event's account and region. Throws `Ec2EventRejected` where the account is neither the function's own nor that
 * of any cluster's role: whoever may put events on the bus is not asked about, and must not choose what is looked for.
 */
export function clustersOf(
  { account, region }: StateChange,
  clusters: readonly Cluster[],
  ownAccount: string | undefined,
): readonly AwsEntry[] {
  const entries = clusters.flatMap(awsEntryOf);
  const accounts = new Set([ownAccount, ...entries.map((entry) => accountOf(entry, ownAccount))]);
  if (!accounts.has(account))
    throw new Ec2EventRejected(
      `account ${account} is neither this function's nor that of any cluster's roleArn`,
    );
  return entries.filter((entry) => entry.aws.region === region && accountOf(entry, ownAccount) === account);
}

function awsEntryOf(cluster: Cluster): AwsEntry[] {
  const { cloud, name } = cluster;
  return cloud.provider === "aws" ? [{ cluster, aws: { ...cloud, clusterName: name } }] : [];
}

/** The account of a cluster's role, or the function's own without one; of access keys nobody knows whose they are. */
function accountOf(
  { aws: { roleArn, credentials } }: AwsEntry,
  ownAccount: string | undefined,
): string | undefined {
  if (roleArn !== undefined) return roleArn.split(":")[4];
  return credentials === undefined ? ownAccount : undefined;
}
