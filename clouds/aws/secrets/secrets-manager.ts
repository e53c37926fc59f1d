import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { refusalOf } from "#clouds/aws/secrets/refusal.ts";
import { type AwsCaller, signedAs } from "#clouds/aws/secrets/signed-as.ts";

/** The current version of a secret, as text; at `AWS_ENDPOINT_URL_SECRETS_MANAGER` where that is set. Rejects with `SecretError`. */
export async function readSecretsManager(id: string, caller: AwsCaller): Promise<string> {
  const client = new SecretsManagerClient(await signedAs(caller));
  try {
    const { SecretString, SecretBinary } = await client.send(new GetSecretValueCommand({ SecretId: id }));
    return SecretString ?? Buffer.from(SecretBinary ?? []).toString("utf8");
  } catch (error) {
    throw refusalOf(error, {
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
