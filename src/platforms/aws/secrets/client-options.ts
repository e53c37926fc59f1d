import { HTTP_TIMEOUTS } from "#platforms/aws/http.ts";
import { type CredentialSource, createRoleCredentials } from "#platforms/aws/role-credentials.ts";
import { toSecretError } from "#platforms/aws/secrets/to-secret-error.ts";

/** The identity and region of a call to AWS. */
export interface AwsCaller {
  /** Part of the role session's name. */
  readonly clusterName: string;
  /** Without it, that of the environment. */
  readonly region?: string | undefined;
  /** Assumed first; without it the SDK's standard chain serves. */
  readonly roleArn?: string | undefined;
}

/**
 * Returns the options of an AWS client for this caller; rejects with `SecretError` if the role cannot be
 * assumed.
 */
export async function buildClientOptions({ clusterName, region, roleArn }: AwsCaller): Promise<{
  readonly region?: string;
  readonly maxAttempts: number;
  readonly requestHandler: typeof HTTP_TIMEOUTS;
  readonly credentials?: CredentialSource;
}> {
  const options = { ...(region && { region }), maxAttempts: 2, requestHandler: HTTP_TIMEOUTS };
  const credentials = createRoleCredentials({ region, roleArn }, clusterName, Date.now);
  if (credentials === undefined) return options;
  try {
    await credentials();
  } catch (error) {
    throw toSecretError(error, {
      what: `the role ${roleArn}`,
      needs: "see its trust policy, and that this process's own role may sts:AssumeRole it",
      denied: "RoleRefused",
      unavailable: "RoleRefused",
    });
  }
  return { ...options, credentials };
}
