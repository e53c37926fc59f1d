import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type LambdaHandler, type LambdaServer, startLambda } from "#emulators/lambda/server.ts";
import { describeInvokeApi, invokeFunction } from "#test/emulators/invoke-contract.ts";
import { type FunctionUnderTest, startFunction } from "#test/functions/function-under-test.ts";

describe("the embedded Invoke API", () => {
  let node: FunctionUnderTest;
  let server: LambdaServer;
  let release: () => void;

  beforeAll(async () => {
    node = await startFunction();
    const functions: Record<string, LambdaHandler> = {
      node: (event, context) => node.invoke(event, {}, context),
      held: () => new Promise<void>((resolve) => (release = resolve)),
    };
    server = await startLambda({ functions, timeoutMs: 240_000, concurrency: 1 });
  });
  afterAll(async () => {
    await server.close();
    await node.close();
  });

  describeInvokeApi(() => ({
    url: server.url,
    functionName: "node",
    turnOff: server.turnOff,
    turnOn: server.turnOn,
  }));

  test("a function that exceeds its timeout is a function error", async () => {
    const functions = { slow: () => new Promise<never>(() => {}) };
    const impatient = await startLambda({ functions, timeoutMs: 50, concurrency: 1 });
    onTestFinished(() => impatient.close());
    const { functionError, payload } = await invokeFunction(impatient.url, "slow", {});
    expect({ functionError, type: payload["errorType"] }).toEqual({
      functionError: "Unhandled",
      type: "Sandbox.Timedout",
    });
  });

  test("an invocation beyond the concurrency is throttled", async () => {
    const both = [invokeFunction(server.url, "held", {}), invokeFunction(server.url, "held", {})];
    // The other one has no answer before it is released.
    await expect(Promise.race(both)).rejects.toMatchObject({ name: "TooManyRequestsException" });
    release();
    const outcomes = await Promise.allSettled(both);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  });

  test("records every invocation, as the platform saw it", async () => {
    const before = server.record().length;
    await invokeFunction(server.url, "node", { version: 7 });
    expect(server.record().slice(before)).toMatchObject([
      { functionName: "node", status: 200, functionError: true },
    ]);
  });
});
