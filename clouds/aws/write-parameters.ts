import { DeleteParameterCommand, PutParameterCommand, SSMClient } from "@aws-sdk/client-ssm";
import { HTTP_TIMEOUTS } from "#clouds/aws/http.ts";

/** Writes SSM's parameters, for the command line: functions have no part in it. */
export function createParameterWriter() {
  const client = new SSMClient({ requestHandler: HTTP_TIMEOUTS });
  return {
    /** Rejects with `ParameterAlreadyExists` where there is one that may not be replaced. */
    async put(name: string, value: string, replaces: boolean): Promise<void> {
      // Beyond 4 KB a parameter has to be of the advanced tier, which costs.
      const input = { Name: name, Value: value, Type: "String", Tier: "Intelligent-Tiering" } as const;
      await client.send(new PutParameterCommand({ ...input, Overwrite: replaces }));
    },
    async remove(name: string): Promise<void> {
      await client.send(new DeleteParameterCommand({ Name: name }));
    },
  };
}
