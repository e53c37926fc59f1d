import { GetParameterCommand, SSMClient } from "@aws-sdk/client-ssm";
import { type AwsCaller, buildClientOptions } from "#platforms/aws/secrets/client-options.ts";
import { toSecretError } from "#platforms/aws/secrets/to-secret-error.ts";
import { SecretError } from "#platforms/secrets/secret-error.ts";

/**
 * Reads a SecureString from the Parameter Store, at `AWS_ENDPOINT_URL_SSM` if set. Rejects with
 * `SecretError`.
 */
export async function readParameter(name: string, caller: AwsCaller): Promise<string> {
  const client = new SSMClient(await buildClientOptions(caller));
  try {
    const { Parameter } = await client.send(new GetParameterCommand({ Name: name, WithDecryption: true }));
    if (Parameter?.Type !== "SecureString") {
      const what = `the SSM parameter ${name} is not a SecureString, and lies there for all to read`;
      throw new SecretError("SecretInvalid", `${what}; make it one, and change what it holds`);
    }
    return Parameter.Value ?? "";
  } catch (error) {
    throw toSecretError(error, {
      what: `the SSM parameter ${name}`,
      needs:
        "see its name and region, and that ssm:GetParameter is allowed on it, and kms:Decrypt on a key of one's own",
      denied: "SecretDenied",
      unavailable: "SecretUnavailable",
    });
  } finally {
    client.destroy();
  }
}
