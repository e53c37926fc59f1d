import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { type AwsCaller, buildClientOptions } from "#platforms/aws/secrets/client-options.ts";
import { toSecretError } from "#platforms/aws/secrets/to-secret-error.ts";

/**
 * Reads the current version of a secret as text, at `AWS_ENDPOINT_URL_SECRETS_MANAGER` if set. Rejects with
 * `SecretError`.
 */
export async function readSecretsManager(id: string, caller: AwsCaller): Promise<string> {
  const client = new SecretsManagerClient(await buildClientOptions(caller));
  try {
    const { SecretString, SecretBinary } = await client.send(new GetSecretValueCommand({ SecretId: id }));
    return SecretString ?? Buffer.from(SecretBinary ?? []).toString("utf8");
  } catch (error) {
    throw toSecretError(error, {
      what: `the secret ${id} of Secrets Manager`,
      needs:
        "see its name and region, and that secretsmanager:GetSecretValue is allowed on it, and kms:Decrypt on a key of one's own",
      denied: "SecretDenied",
      unavailable: "SecretUnavailable",
    });
  } finally {
    client.destroy();
  }
}
