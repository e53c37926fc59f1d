import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { LambdaClientConfig } from "@aws-sdk/client-lambda";
import { afterEach, expect, test } from "vitest";
import type { Reason } from "#core/reason.ts";
import { startLambda } from "#emulators/lambda/server.ts";
import { createLambdaInvoker } from "#platforms/lambda/invoker.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function dryRun(endpoint: string, client: LambdaClientConfig = {}): Promise<Reason | undefined> {
  const invoker = createLambdaInvoker({
    functionName: () => "ccm-node",
    functionTimeoutMs: 1_000,
    maxInFlight: 1,
    client: {
      endpoint,
      region: "eu-central-1",
      credentials: { accessKeyId: "test", secretAccessKey: "test" },
      ...client,
    },
  });
  closing.push(() => invoker.close());
  return invoker.dryRun("cloud-node-controller", new AbortController().signal);
}

async function lambda(name: string): Promise<{ url: string; runs: () => number }> {
  let runs = 0;
  const count = async (): Promise<void> => {
    runs += 1;
  };
  const server = await startLambda({ functions: { [name]: count }, timeoutMs: 1_000, concurrency: 1 });
  closing.push(() => server.close());
  return { url: server.url, runs: () => runs };
}

/** an existing function may be invoked, and is not run */
async function refusing(status: number, type: string, message: string): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(status, { "content-type": "application/json", "x-amzn-errortype": type });
    response.end(JSON.stringify({ Message: message }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("a function that is there may be invoked, and is not run", async () => {
  const { url, runs } = await lambda("ccm-node");
  expect([await dryRun(url), runs()]).toEqual([undefined, 0]);
});

test("a function under another prefix is missing", async () => {
  const { url } = await lambda("other-node");
  expect(await dryRun(url)).toEqual({
    code: "FunctionMissing",
    message: expect.stringMatching(/^function ccm-node: ResourceNotFoundException: .*--function-prefix/),
  });
});

test.each<[number, string, string, string | undefined, RegExp]>([
  [
    403,
    "AccessDeniedException",
    "User is not authorized to perform: lambda:InvokeFunction",
    "Denied",
    /allow lambda:InvokeFunction/,
  ],
  [403, "ExpiredTokenException", "expired", "CredentialsRefused", /renew/],
  [403, "UnrecognizedClientException", "token is invalid", "CredentialsRefused", /renew/],
  [500, "ServiceException", "oops", "Unreachable", /--region/],
  [400, "InvalidParameterValueException", "another", "Unreachable", /another/],
  [429, "TooManyRequestsException", "Rate Exceeded.", undefined, /^$/],
  [
    400,
    "InvalidParameterValueException",
    "invocationType: 'DryRun' not supported by serverless-offline",
    undefined,
    /^$/,
  ],
])("%i %s: %s comes to %s", async (status, type, message, code, words) => {
  const fault = await dryRun(await refusing(status, type, message));
  expect(fault?.code).toBe(code);
  expect(fault?.message ?? "").toMatch(words);
});

test("a port without a listener is unreachable", async () => {
  const fault = await dryRun("http://127.0.0.1:1");
  expect(fault).toEqual({ code: "Unreachable", message: expect.stringMatching(/ECONNREFUSED.*network/) });
});

test("missing credentials are reported", async () => {
  const credentials = async (): Promise<never> => {
    throw Object.assign(new Error("Could not load credentials from any providers"), {
      name: "CredentialsProviderError",
    });
  };
  expect((await dryRun("http://127.0.0.1:1", { credentials }))?.code).toBe("CredentialsMissing");
});

test("a missing region is reported", async () => {
  const region = async (): Promise<never> => {
    throw new Error("Region is missing");
  };
  expect((await dryRun("http://127.0.0.1:1", { region }))?.code).toBe("RegionMissing");
});
