import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type LambdaServer, startLambda } from "#emulators/lambda/server.ts";
import { lambda } from "#platforms/lambda/platform.ts";
import { loadPlatform } from "#platforms/platforms.ts";
import { NODE_EVENT } from "#test/platforms/node-event.ts";

const { signal } = new AbortController();

test("Lambda is the platform of a relay", async () => {
  expect(await loadPlatform()).toBe(lambda);
});

describe("the region of the functions", () => {
  afterEach(() => vi.unstubAllEnvs());

  test("is the given one before the environment's", async () => {
    vi.stubEnv("AWS_REGION", "us-east-1");
    expect(await lambda.findRegion("eu-central-1")).toBe("eu-central-1");
    expect(await lambda.findRegion(undefined)).toBe("us-east-1");
  });

  test("is rejected if the SDK calls it invalid", async () => {
    await expect(lambda.findRegion("a b")).rejects.toThrow('"a b" is not a region');
  });
});

describe("the deployment of a function", () => {
  let server: LambdaServer;
  beforeEach(async () => {
    const functions = Object.fromEntries(
      ["my-sweep-node-lifecycle", "node", "renamed"].map((name) => [name, async () => ({ name })]),
    );
    server = await startLambda({ functions, timeoutMs: 5_000, concurrency: 5 });
    vi.stubEnv("AWS_ENDPOINT_URL_LAMBDA", server.url);
    vi.stubEnv("AWS_REGION", "eu-central-1");
    vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await server.close();
  });

  test.each([
    ["my-sweep-sweep", "my-sweep-", "node-lifecycle", "my-sweep-node-lifecycle"],
    ["renamed", undefined, "node", "node"],
    ["sweep", undefined, "node", "node"],
    [undefined, undefined, "node", "node"],
  ])("of the function %s has the prefix %s, and its %s is %s", async (own, prefix, name, deployedName) => {
    const deployment = lambda.openDeployment({ AWS_LAMBDA_FUNCTION_NAME: own }, "sweep");
    expect(deployment.prefix).toBe(prefix);
    const invoker = deployment.createInvoker({ functionName: () => name, maxInFlight: 2 });
    await invoker.invoke(NODE_EVENT, signal);
    await invoker.close();
    expect(server.record().map(({ functionName }) => functionName)).toEqual([deployedName]);
  });

  test("rejects an invocation of the function itself that the platform does not accept", async () => {
    const deployment = lambda.openDeployment({ AWS_LAMBDA_FUNCTION_NAME: "missing-sweep" }, "sweep");
    await expect(deployment.invokeItself({ shard: 1 }, signal)).rejects.toThrow();
  });

  test("starts another invocation of the function itself", async () => {
    const deployment = lambda.openDeployment({ AWS_LAMBDA_FUNCTION_NAME: "renamed" }, "sweep");
    await deployment.invokeItself({ shard: 1 }, signal);
    expect(server.record().map(({ functionName }) => functionName)).toEqual(["renamed"]);
  });
});
