import { type CredentialSource, roleCredentials } from "#clouds/aws/credentials.ts";
import { HTTP_TIMEOUTS } from "#clouds/aws/http.ts";
import { refusalOf } from "#clouds/aws/secrets/refusal.ts";

/** As whom AWS is asked, and where. */
export interface AwsCaller {
  /** Stands in the name of the role's session. */
  readonly clusterName: string;
  /** That of the environment without it. */
  readonly region?: string | undefined;
  /** Assumed first; the SDK's standard chain without it. */
  readonly roleArn?: string | undefined;
}

/** The options of a client of AWS that asks as this caller; rejects with `SecretError` where the role cannot be assumed. */
export async function signedAs({ clusterName, region, roleArn }: AwsCaller): Promise<{
  readonly region?: string;
  readonly maxAttempts: number;
  readonly requestHandler: typeof HTTP_TIMEOUTS;
  readonly credentials?: CredentialSource;
}> {
  const options = { ...(region && { region }), maxAttempts: 2, requestHandler: HTTP_TIMEOUTS };
  const credentials = roleCredentials({ region, roleArn }, clusterName, Date.now);
  if (credentials === undefined) return options;
  try {
    await credentials();
  } catch (error) {
    throw refusalOf(error, {
      what: `the role ${roleArn}`,
      needs: "see its trust policy, and that this process's own role may sts:AssumeRole it",
      denied: "RoleRefused",
      unavailable: "RoleRefused",
    });
  }
  return { ...options, credentials };
}
