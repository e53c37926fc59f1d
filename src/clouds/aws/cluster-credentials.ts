import type { AwsCluster } from "#clouds/aws/ownership.ts";
import { buildSessionPolicy, MAX_POLICY_LENGTH } from "#clouds/aws/session-policy.ts";
import { getFunctionName, type SessionPurpose } from "#clouds/aws/session-purpose.ts";
import { type CredentialSource, createRoleCredentials } from "#platforms/aws/role-credentials.ts";
import { createAccessKeys } from "#platforms/aws/secrets/access-keys.ts";

/** Options that decide which function a session works for, and which role it uses if the cluster has none. */
export interface SessionOptions {
  /** The name of the deployed function; without it each capability has a purpose of its own. */
  readonly functionName?: string | undefined;
  /**
   * Assumed for clusters whose configuration has neither a role nor credentials. Without it their calls use
   * the process's own credentials.
   */
  readonly sessionRoleArn?: string | undefined;
}

/**
 * Returns a cluster's credentials for one purpose. They are those of its role or of the session role, narrowed by
 * the session policy. Undefined if the calls use the SDK's default credentials. `name` becomes part of the
 * session's name. A session lasts an hour, AWS's maximum for a role that another role assumes.
 */
export function createClusterCredentials(
  cluster: AwsCluster,
  {
    name,
    purpose,
    functionName,
    sessionRoleArn,
  }: SessionOptions & { readonly name: string; readonly purpose: SessionPurpose },
  wallClock: () => number,
): CredentialSource | undefined {
  const { region, externalId, sourceArn, credentials, roleArn: clusterRoleArn } = cluster;
  const policy = buildSessionPolicy(cluster, purpose);
  // Without a policy, a session of that role could do no more than the process itself.
  const isNarrowed = credentials === undefined && policy !== undefined;
  const roleArn = clusterRoleArn ?? (isNarrowed ? sessionRoleArn : undefined);
  const source = credentials && createAccessKeys(credentials, { clusterName: name, region }, wallClock);
  if (roleArn === undefined) return source;
  if (policy !== undefined && policy.length > MAX_POLICY_LENGTH) {
    const message = `no session for ${getFunctionName(purpose)}: its policy has ${policy.length} characters, and AWS accepts ${MAX_POLICY_LENGTH}; give the cluster a shorter clusterTag, or set sessionPolicy: none`;
    return () => Promise.reject(new Error(message));
  }
  // Both belong to the trust policy of the cluster's own role.
  const trustParameters = clusterRoleArn === undefined ? {} : { externalId, sourceArn };
  // `doctor` assumes the role of the function that it checks.
  const assumedArn = roleArn.replaceAll(
    "{function}",
    purpose === "doctor" ? (functionName ?? "node") : getFunctionName(purpose),
  );
  return createRoleCredentials(
    { region, source, ...trustParameters, roleArn: assumedArn, policy },
    name,
    wallClock,
  );
}

/**
 * Shares one session among all requests for the same role. Each caller gets its own function, which its
 * client calls again after AWS rejects the credentials. The first such call creates a new session, which the
 * others then share.
 */
export function shareCredentials(
  createSource: () => CredentialSource | undefined,
): () => () => CredentialSource | undefined {
  let current: CredentialSource | undefined;
  return () => {
    let returned: CredentialSource | undefined;
    return () => {
      if (current === undefined || current === returned) current = createSource();
      returned = current;
      return current;
    };
  };
}
