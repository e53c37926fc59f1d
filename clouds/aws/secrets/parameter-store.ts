import { GetParameterCommand, SSMClient } from "@aws-sdk/client-ssm";
import { refusalOf } from "#clouds/aws/secrets/refusal.ts";
import { type AwsCaller, signedAs } from "#clouds/aws/secrets/signed-as.ts";
import { SecretError } from "#clouds/secrets/secret-error.ts";

/** What a SecureString of the Parameter Store holds; at `AWS_ENDPOINT_URL_SSM` where that is set. Rejects with `SecretError`. */
export async function readParameter(name: string, caller: AwsCaller): Promise<string> {
  const client = new SSMClient(await signedAs(caller));
  try {
    const { Parameter } = await client.send(new GetParameterCommand({ Name: name, WithDecryption: true }));
    if (Parameter?.Type !== "SecureString") {
      const what = `the SSM parameter ${name} is no SecureString, and lies there for all to read`;
      throw new SecretError("SecretInvalid", `${what}; make it one, and change what it holds`);
    }
    return Parameter.Value ?? "";
  } catch (error) {
    throw refusalOf(error, {
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
