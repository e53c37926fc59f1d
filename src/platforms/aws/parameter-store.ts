import {
  GetParameterCommand,
  GetParametersByPathCommand,
  GetParametersCommand,
  type Parameter,
  SSMClient,
} from "@aws-sdk/client-ssm";
import { HTTP_TIMEOUTS } from "#platforms/aws/http.ts";

/** Attempts per request; the SDK waits longer between them if it is throttled. */
const MAX_ATTEMPTS = 4;

/** SSM's largest page. */
const PAGE = 10;

/**
 * Creates a reader of SSM's parameters, at `AWS_ENDPOINT_URL_SSM` if set. It does not decrypt values. It uses
 * the process's own credentials.
 */
export function createParameterStore() {
  const client = new SSMClient({ maxAttempts: MAX_ATTEMPTS, requestHandler: HTTP_TIMEOUTS });
  const optionsOf = (abortSignal: AbortSignal | undefined) =>
    abortSignal === undefined ? {} : { abortSignal };
  return {
    async list(path: string, next: string | undefined, signal?: AbortSignal) {
      const input = { Path: path, MaxResults: PAGE, WithDecryption: false, NextToken: next };
      const page = await client.send(new GetParametersByPathCommand(input), optionsOf(signal));
      return {
        parameters: (page.Parameters ?? []).map(toStoredParameter),
        next: page.NextToken || undefined,
      };
    },
    async get(name: string, signal?: AbortSignal) {
      try {
        const command = new GetParameterCommand({ Name: name, WithDecryption: false });
        const { Parameter } = await client.send(command, optionsOf(signal));
        return Parameter === undefined ? undefined : toStoredParameter(Parameter);
      } catch (error) {
        if (error instanceof Error && error.name === "ParameterNotFound") return undefined;
        throw error;
      }
    },
    async getMany(names: readonly string[], signal?: AbortSignal) {
      const command = new GetParametersCommand({ Names: [...names], WithDecryption: false });
      const { Parameters } = await client.send(command, optionsOf(signal));
      return (Parameters ?? []).map(toStoredParameter);
    },
  };
}

function toStoredParameter({ Name = "", Value = "", Type, LastModifiedDate }: Parameter) {
  return { name: Name, value: Value, type: `${Type ?? ""}`, modifiedAt: LastModifiedDate?.getTime() };
}
