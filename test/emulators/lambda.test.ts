import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type LambdaHandler, type LambdaServer, startLambda } from "#emulators/lambda/server.ts";
import { describeInvokeApi, invokeFunction } from "#test/emulators/invoke-contract.ts";
import { type FunctionUnderTest, startFunction } from "#test/functions/function-under-test.ts";

describe("the embedded Invoke API", () => {
  let node: FunctionUnderTest;
  let server: LambdaServer;

  beforeAll(async () => {
    node = await startFunction();
    const functions: Record<string, LambdaHandler> = {
      node: (event, context) => node.invoke(event, {}, context),
      slow: () => new Promise(() => {}),
    };
    server = await startLambda({ functions, timeoutMs: 200, concurrency: 1 });
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

  test("a function that overruns is a function error", async () => {
    const { functionError, payload } = await invokeFunction(server.url, "slow", {});
    expect({ functionError, type: payload["errorType"] }).toEqual({
      functionError: "Unhandled",
      type: "Sandbox.Timedout",
    });
  });

  test("an invocation beyond the concurrency is throttled", async () => {
    const both = [invokeFunction(server.url, "slow", {}), invokeFunction(server.url, "slow", {})];
    const outcomes = await Promise.allSettled(both);
    const refused = outcomes.flatMap((each) => (each.status === "rejected" ? [each.reason.name] : []));
    expect(refused).toEqual(["TooManyRequestsException"]);
  });

  test("every invocation is recorded, as the platform saw it", async () => {
    const before = server.record().length;
    await invokeFunction(server.url, "node", { version: 7 });
    expect(server.record().slice(before)).toMatchObject([
      { functionName: "node", status: 200, functionError: true },
    ]);
  });
});
