import { createClusterCredentials } from "#clouds/aws/cluster-credentials.ts";
import type { AwsCloudConfig } from "#clouds/aws/config.ts";
import { getFunctionName, selectPurpose } from "#clouds/aws/session-purpose.ts";
import type { LoadCloudOptions } from "#clouds/provider.ts";
import type { CredentialSource } from "#platforms/aws/role-credentials.ts";

/** The end of the shared sessions' name in the account's audit trail. */
const SESSION_NAME = "shared-reads";

/**
 * Returns a key that is equal for clusters whose own sessions have the same principal and quota, apart from
 * the session's policy and name. It has all that decides whether and as whom AWS signs a cluster in: a
 * cluster whose external ID is wrong must not read through the session of one whose ID is right. Access keys
 * count by the reference to their secret. The endpoint is the process's.
 */
export function buildPrincipalKey(config: AwsCloudConfig, options: LoadCloudOptions): string {
  const { region, roleArn, externalId, sourceArn, credentials, quotas } = config;
  return JSON.stringify([
    ...[region, roleArn, externalId, sourceArn, credentials, quotas?.["DescribeInstances"]],
    ...[options.functionName, selectSessionRole(config, options)],
  ]);
}

/**
 * Returns the credentials of shared reads: the principal of the clusters, with a session policy that allows
 * `ec2:DescribeInstances` alone, whatever the clusters' `sessionPolicy`. Without a role there is no session to
 * narrow: as for each cluster's own calls, the credentials are the configured or the process's own.
 */
export function createSharedCredentials(
  config: AwsCloudConfig,
  options: LoadCloudOptions,
  wallClock: () => number,
): CredentialSource | undefined {
  const name = getFunctionName(selectPurpose(options.functionName, "node"));
  const nameRole = (roleArn: string | undefined) => roleArn?.replaceAll("{function}", name);
  return createClusterCredentials(
    // The policy of this purpose names no cluster, and `none` would send no policy.
    { ...config, roleArn: nameRole(config.roleArn), sessionPolicy: "strict" },
    {
      name: SESSION_NAME,
      // Its sessions may describe instances, and nothing else.
      purpose: "ec2-events",
      sessionRoleArn: nameRole(selectSessionRole(config, options)),
    },
    wallClock,
  );
}

/** Without a session policy, a cluster without a role uses the process's own credentials. */
function selectSessionRole(
  { roleArn, credentials, sessionPolicy }: AwsCloudConfig,
  { sessionRoleArn }: LoadCloudOptions,
): string | undefined {
  const hasOwn = roleArn !== undefined || credentials !== undefined;
  return hasOwn || sessionPolicy === "none" ? undefined : sessionRoleArn;
}
