import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import { expect, test } from "vitest";

/** An endpoint of Lambda's Invoke API with the node function behind it. */
export interface InvokeEndpoint {
  readonly url: string;
  /** The node function's name there. */
  readonly functionName: string;
  turnOff(): Promise<void>;
  turnOn(): Promise<void>;
}

/** An answer to an Invoke call. */
export interface InvokeAnswer {
  readonly status: number | undefined;
  readonly functionError: string | undefined;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** Invokes a function synchronously, through AWS's SDK and without its retries. */
export async function invokeFunction(
  url: string,
  functionName: string,
  event: unknown,
): Promise<InvokeAnswer> {
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const client = new LambdaClient({ endpoint: url, region: "us-east-1", credentials, maxAttempts: 1 });
  try {
    const Payload = Buffer.from(JSON.stringify(event));
    const answer = await client.send(new InvokeCommand({ FunctionName: functionName, Payload }));
    return {
      status: answer.StatusCode,
      functionError: answer.FunctionError,
      payload: JSON.parse(Buffer.from(answer.Payload ?? []).toString()),
    };
  } finally {
    client.destroy();
  }
}

/** Asks whether a function may be invoked; the answer's status, or the refusal's name. */
async function dryRunFunction(url: string, functionName: string): Promise<number | string | undefined> {
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const client = new LambdaClient({ endpoint: url, region: "us-east-1", credentials, maxAttempts: 1 });
  try {
    const command = new InvokeCommand({ FunctionName: functionName, InvocationType: "DryRun" });
    return (await client.send(command)).StatusCode;
  } catch (error) {
    return error instanceof Error ? error.name : String(error);
  } finally {
    client.destroy();
  }
}

/**
 * What the relay relies on of the Invoke API, for every endpoint that stands in for AWS's. `dryRunAnswer` is what a dry run of
 * a function that is there comes to: 204 at AWS.
 */
export function describeInvokeApi(
  endpoint: () => InvokeEndpoint,
  dryRunAnswer: 204 | "InvalidParameterValueException" = 204,
): void {
  const invoke = (event: unknown, functionName = endpoint().functionName): Promise<InvokeAnswer> =>
    invokeFunction(endpoint().url, functionName, event);

  test("an event that the function rejects is a function error, with status 200 and the faults' paths", async () => {
    const { status, functionError, payload } = await invoke({ version: 7 });
    expect({ status, functionError }).toEqual({ status: 200, functionError: "Unhandled" });
    expect(payload["errorMessage"]).toMatch(/^the event is rejected, nothing was done: version: /);
  });

  test("a function that is not there is not found", async () => {
    await expect(invoke({}, "no-such-function")).rejects.toMatchObject({ name: "ResourceNotFoundException" });
  });

  test("a dry run of a function that is there runs nothing and is answered; of one that is not, that it is not found", async () => {
    const dryRun = (FunctionName: string): Promise<number | string | undefined> =>
      dryRunFunction(endpoint().url, FunctionName);
    expect([await dryRun(endpoint().functionName), await dryRun("no-such-function")]).toEqual([
      dryRunAnswer,
      "ResourceNotFoundException",
    ]);
  });

  test("an endpoint that was turned off refuses connections, and turned on again it is at the same address", async () => {
    const { url } = endpoint();
    await endpoint().turnOff();
    await expect(invoke({})).rejects.toThrow(/ECONNREFUSED/);
    await endpoint().turnOn();
    expect(endpoint().url).toBe(url);
    expect((await invoke({})).functionError).toBe("Unhandled");
  });
}
