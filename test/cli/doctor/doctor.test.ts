import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { runDoctor } from "#cli/doctor/doctor.ts";
import { buildClusterEntry, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { createAuthentication } from "#platforms/http/authentication.ts";
import { startFunctionServer } from "#platforms/http/server.ts";
import { type ClusterInReach, startClusterInReach } from "#test/cli/cluster-in-reach.ts";
import { runProgram } from "#test/cli/program.ts";

let world: ClusterInReach;
let file: string;
let lambda: Server;
let asked: string[];

beforeAll(async () => {
  world = await startClusterInReach();
  file = join(world.folder, "clusters.yaml");
  const cloud = { provider: "memory", instancesFile: "/absent" } as const;
  const away = {
    ...buildClusterEntry(world.plane, { name: "tenant-b", cloud }),
    server: "https://127.0.0.1:1",
  };
  const entries = [buildClusterEntry(world.plane, { name: "tenant-a", cloud }), away, { name: "tenant-c" }];
  await writeClustersFile(file, ...entries);
  lambda = createServer((request, answer) => {
    asked.push(`${request.method} ${request.url}`);
    const isAccount = request.url?.includes("account-settings") === true;
    answer.setHeader("content-type", "application/json");
    if (isAccount) {
      answer.end('{"AccountLimit":{"ConcurrentExecutions":1000,"UnreservedConcurrentExecutions":900}}');
    } else answer.end('{"ReservedConcurrentExecutions":0}');
  });
  await new Promise<void>((resolve) => lambda.listen(0, "127.0.0.1", resolve));
  const { port } = lambda.address() as AddressInfo;
  vi.stubEnv("AWS_ENDPOINT_URL_LAMBDA", `http://127.0.0.1:${port}`);
  vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
});
afterAll(async () => {
  vi.unstubAllEnvs();
  lambda.close();
  await world.close();
});
beforeEach(() => {
  asked = [];
});

const FLAGS = { clusterName: "kubernetes", controllers: "*", given: new Set<string>() };

test("checks all clusters of a file; an unreachable one and a faulty entry do not affect the others", async () => {
  const lines: string[] = [];
  const looked = runDoctor(undefined, { ...FLAGS, clustersFile: file }, (line) => lines.push(line), {});
  await expect(looked).rejects.toThrow(/^\d+ checks failed$/);
  const of = (name: string): string[] => {
    const from = lines.findIndex((line) => line.startsWith("cluster ") && line.includes(name));
    const to = lines.findIndex((line, index) => index > from && line.startsWith("cluster "));
    return lines.slice(from + 1, to < 0 ? undefined : to);
  };
  expect(of("tenant-a")[1]).toMatch(/^ok {7}api-server +v1\.36\.3-embedded at https:/);
  expect(of("tenant-b")[1]).toMatch(/^failed {3}api-server +.*connection refused/);
  expect(of("tenant-b")[2]).toMatch(/^ +→ see the cluster's server address/);
  expect(of("tenant-b").filter((line) => line.endsWith("needs api-server")).length).toBeGreaterThan(5);
  expect(of("tenant-c")[0]).toMatch(/^failed {3}configuration/);
});

test("asks Lambda once for all clusters if functions are configured", async () => {
  const lines: string[] = [];
  const flags = { ...FLAGS, clustersFile: file, functionPrefix: "prod-", region: "eu-central-1", json: true };
  await expect(runDoctor(undefined, flags, (line) => lines.push(line), {})).rejects.toThrow("checks failed");
  const findings = lines.map((line) => JSON.parse(line)).filter(({ check }) => check === "functions");
  expect(findings.map(({ cluster, outcome, message }) => [cluster, outcome, message])).toEqual(
    ["tenant-a", "tenant-b"].map((cluster) => [
      cluster,
      "failed",
      "may never run, as 0 executions are reserved for them: prod-node, prod-node-lifecycle",
    ]),
  );
  expect(asked.sort()).toEqual([
    expect.stringContaining("account-settings"),
    expect.stringContaining("functions/prod-node-lifecycle/concurrency"),
    expect.stringContaining("functions/prod-node/concurrency"),
  ]);
});

test("asks functions over HTTP whether they may be invoked", async () => {
  const server = await startFunctionServer({
    functions: new Map([["node", async () => undefined]]),
    ...{ bindAddress: "127.0.0.1", port: 0, concurrency: 1, functionTimeoutMs: 1_000, log: () => undefined },
    authenticate: createAuthentication({ readTokens: async () => ["right"] }),
  });
  const findings = async (token: string) => {
    const lines: string[] = [];
    const functionUrl = `${server.url}/{function}`;
    const flags = { ...FLAGS, clustersFile: file, platform: "http", functionUrl, json: true };
    const environment = { FUNCTION_TOKEN: token };
    await runDoctor("tenant-a", flags, (line) => lines.push(line), environment).catch(() => undefined);
    return lines.map((line) => JSON.parse(line)).filter(({ check }) => check === "functions");
  };
  try {
    expect(await findings("wrong")).toMatchObject([
      {
        outcome: "failed",
        message: expect.stringMatching(/^CredentialsRefused: function .*\/node: status 401/),
      },
    ]);
    expect(await findings("right")).toMatchObject([
      {
        outcome: "failed",
        message: expect.stringMatching(/^FunctionMissing: function .*\/node-lifecycle: status 404/),
      },
    ]);
  } finally {
    await server.close();
  }
});

test.each<[string, readonly string[], string]>([
  [
    "two ways to name functions",
    ["--function-prefix", "a", "--function-arn", "b"],
    "--function-prefix: give it or",
  ],
  [
    "functions over plain HTTP",
    ["--platform", "http", "--function-url", "http://x/{function}"],
    "plain http",
  ],
  ["an unknown cluster", ["tenant-z"], "has no cluster"],
])("%s is wrong usage", async (_, flags, message) => {
  const { code, stderr } = await runProgram(["doctor", "--clusters-file", file, ...flags], "", {
    AWS_REGION: "eu-central-1",
  });
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
});
