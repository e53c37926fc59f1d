import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Report } from "#core/report.ts";
import { clusterHash } from "#kube/cluster-hash.ts";
import { type FunctionPlatform, startFunctionPlatform } from "#local/function-platform.ts";
import { makeFunctionProject } from "#test/build/function-project.ts";
import { type FunctionUnderTest, startFunction } from "#test/functions/function-under-test.ts";

let folder = "";
let node: FunctionUnderTest;
let platform: FunctionPlatform;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "function-platform-"));
  node = await startFunction();
  await makeFunctionProject(join(folder, "project"));
  const instancesFile = join(folder, "instances.json");
  const cluster = { ...node.cluster, cloud: { provider: "memory", instancesFile } };
  await writeFile(join(folder, "clusters.yaml"), JSON.stringify({ clusters: [cluster] }));
  platform = await startFunctionPlatform({
    project: join(folder, "project"),
    folder: join(folder, "platform"),
    environment: { CLUSTERS_FILE: join(folder, "clusters.yaml") },
  });
});
afterAll(async () => {
  await platform.close();
  await node.close();
  await rm(folder, { recursive: true, force: true });
});

async function invoke(event: unknown) {
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const client = new LambdaClient({
    endpoint: platform.url,
    region: "us-east-1",
    credentials,
    maxAttempts: 1,
  });
  try {
    const Payload = Buffer.from(JSON.stringify(event));
    const answer = await client.send(new InvokeCommand({ FunctionName: "serverless-ccm-dev-node", Payload }));
    return {
      functionError: answer.FunctionError,
      payload: JSON.parse(Buffer.from(answer.Payload ?? []).toString()),
    };
  } finally {
    client.destroy();
  }
}

test("the packaged function answers Lambda's Invoke API, and initializes a node", async () => {
  const joined = await node.join("a");
  await writeFile(
    join(folder, "instances.json"),
    JSON.stringify({ instances: [...node.cloud.instances.values()] }),
  );
  const cloud = { provider: "memory" as const, instancesFile: join(folder, "instances.json") };
  const { functionError, payload } = await invoke(
    node.event(joined, { clusterHash: clusterHash({ ...node.cluster, cloud }) }),
  );
  expect(functionError).toBeUndefined();
  expect(Report.parse(payload).objects).toMatchObject([{ name: "a", outcome: "changed" }]);
  expect((await node.api.read("a")).spec.providerID).toBe("memory:///zone-a/a");
});

test("an event that is rejected is a function error with the faults' paths", async () => {
  const { functionError, payload } = await invoke({ version: 7 });
  expect(functionError).toBe("Unhandled");
  expect(payload.errorMessage).toMatch(/^the event is rejected, nothing was done: version: /);
});

test("a platform that was killed refuses connections, and started again it answers at the same address", async () => {
  const { url } = platform;
  await platform.stop("SIGKILL");
  await expect(invoke({})).rejects.toThrow(/ECONNREFUSED/);
  await platform.start();
  expect(platform.url).toBe(url);
  expect((await invoke({})).functionError).toBe("Unhandled");
});

test("a platform that cannot start says why", async () => {
  const started = startFunctionPlatform({
    project: join(folder, "nowhere"),
    folder: join(folder, "none"),
    environment: {},
  });
  await expect(started).rejects.toThrow(/npm run build.* there is no .*nowhere/);
  await writeFile(join(folder, "project/serverless.yml"), "service: broken\nfunctions: 5\n");
  const broken = startFunctionPlatform({
    project: join(folder, "project"),
    folder: join(folder, "broken"),
    environment: {},
  });
  await expect(broken).rejects.toThrow(/ended before it was ready:[\s\S]*provider/);
});
