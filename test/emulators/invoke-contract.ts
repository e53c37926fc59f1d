import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import { expect, test } from "vitest";

/** An endpoint of Lambda's Invoke API with the node function behind it. */
export interface InvokeEndpoint {
  readonly url: string;
  /** The node function's name on this endpoint. */
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

/** Checks whether a function may be invoked; returns the status, or the error's name. */
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
 * Describes what the relay relies on in the Invoke API, for every emulator of AWS's. `dryRunAnswer` is the
 * result of a dry run of an existing function: 204 at AWS.
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

  test('answers "not found" for a missing function', async () => {
    await expect(invoke({}, "no-such-function")).rejects.toMatchObject({ name: "ResourceNotFoundException" });
  });

  test('a dry run executes nothing: it succeeds for an existing function, and is "not found" for a missing one', async () => {
    const dryRun = (FunctionName: string): Promise<number | string | undefined> =>
      dryRunFunction(endpoint().url, FunctionName);
    expect([await dryRun(endpoint().functionName), await dryRun("no-such-function")]).toEqual([
      dryRunAnswer,
      "ResourceNotFoundException",
    ]);
  });

  test("an endpoint refuses connections while it is off, and keeps its address when it is on again", async () => {
    const { url } = endpoint();
    await endpoint().turnOff();
    await expect(invoke({})).rejects.toThrow(/ECONNREFUSED/);
    await endpoint().turnOn();
    expect(endpoint().url).toBe(url);
    expect((await invoke({})).functionError).toBe("Unhandled");
  });
}
