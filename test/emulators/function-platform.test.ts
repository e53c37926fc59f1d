import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Cluster, type ClusterEntry } from "#config/cluster.ts";
import { Report } from "#core/report.ts";
import { writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { type FunctionPlatform, startFunctionPlatform } from "#emulators/harness/function-platform.ts";
import { makeFunctionProject } from "#test/build/function-project.ts";
import { describeInvokeApi, invokeFunction } from "#test/emulators/invoke-contract.ts";
import { type FunctionUnderTest, startFunction } from "#test/functions/function-under-test.ts";

let folder = "";
let node: FunctionUnderTest;
let entry: ClusterEntry;
let platform: FunctionPlatform;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "function-platform-"));
  node = await startFunction();
  await makeFunctionProject(join(folder, "project"));
  const instancesFile = join(folder, "instances.json");
  entry = { ...node.entry, cloud: { provider: "memory", instancesFile } };
  await writeClustersFile(join(folder, "clusters.yaml"), entry);
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

describeInvokeApi(
  () => ({
    url: platform.url,
    functionName: "serverless-ccm-dev-node",
    turnOff: () => platform.stop("SIGKILL"),
    turnOn: platform.start,
  }),
  // serverless-offline 14.8.2 rejects dry runs, but only of existing functions.
  "InvalidParameterValueException",
);

test("the packaged function answers Lambda's Invoke API, and initializes a node", async () => {
  const joined = await node.join("a");
  await writeFile(
    join(folder, "instances.json"),
    JSON.stringify({ instances: [...node.cloud.instances.values()] }),
  );
  const { functionError, payload } = await invokeFunction(
    platform.url,
    "serverless-ccm-dev-node",
    node.event(joined, { clusterHash: Cluster.parse(entry).hash }),
  );
  expect(functionError).toBeUndefined();
  expect(Report.parse(payload).objects).toMatchObject([{ name: "a", outcome: "changed" }]);
  expect((await node.api.read("a")).spec.providerID).toBe("memory:///zone-a/a");
});

test("a platform that cannot start reports the reason", async () => {
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
