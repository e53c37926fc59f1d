import { DeleteParameterCommand, PutParameterCommand, SSMClient } from "@aws-sdk/client-ssm";
import { HTTP_TIMEOUTS } from "#platforms/aws/http.ts";

/** Creates a writer of SSM's parameters for the command line; functions do not use it. */
export function createParameterWriter() {
  const client = new SSMClient({ requestHandler: HTTP_TIMEOUTS });
  return {
    /** Rejects with `ParameterAlreadyExists` if the parameter exists and may not be replaced. */
    async put(name: string, value: string, replaces: boolean): Promise<void> {
      // Parameters over 4 KB need the advanced tier, which is billed.
      const input = { Name: name, Value: value, Type: "String", Tier: "Intelligent-Tiering" } as const;
      await client.send(new PutParameterCommand({ ...input, Overwrite: replaces }));
    },
    async remove(name: string): Promise<void> {
      await client.send(new DeleteParameterCommand({ Name: name }));
    },
  };
}
