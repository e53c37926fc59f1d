import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { nodeController } from "#core/node/controller.ts";
import { writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import { createDeployedDependencies } from "#functions/parts/deployed-dependencies.ts";
import { type FunctionUnderTest, startFunction } from "./function-under-test.ts";

let node: FunctionUnderTest;
let folder = "";
let clustersFile = "";
const context = { awsRequestId: "request-1", getRemainingTimeInMillis: () => 20_000 };

beforeEach(async () => {
  node = await startFunction();
  folder = await mkdtemp(join(tmpdir(), "lambda-world-"));
  clustersFile = join(folder, "clusters.yaml");
  const cloud = { provider: "memory" as const, instancesFile: join(folder, "instances.json") };
  await writeClustersFile(clustersFile, { ...node.entry, cloud });
});
afterEach(async () => {
  await node.close();
  await rm(folder, { recursive: true });
});

async function invoke(environment: Record<string, string>, event: Record<string, unknown>) {
  const world = createDeployedDependencies("node", environment);
  const cluster = await world.clusters("tenant-a").catch(() => undefined);
  const hash = cluster?.hash ?? "0123456789abcdef";
  const quiet = { clusters: world.clusters, cloud: world.cloud, api: world.api, now: world.now };
  const report = await createControllerFunction(nodeController, quiet)(
    { ...event, clusterHash: hash },
    context,
  );
  if (cluster) await (await world.api(cluster)).close();
  return report;
}

test("a deployed function finds its clusters, cloud and sign-in by CLUSTERS_FILE", async () => {
  const joined = await node.join("a");
  const instances = [...node.cloud.instances.values()];
  await writeFile(join(folder, "instances.json"), JSON.stringify({ instances }));
  const report = await invoke({ CLUSTERS_FILE: clustersFile }, node.event(joined));
  expect(report.objects).toMatchObject([{ name: "a", outcome: "changed" }]);
  expect((await node.api.read("a")).spec.providerID).toBe("memory:///zone-a/a");
});

test("the same cluster gets the cached cloud and connection", async () => {
  await writeFile(join(folder, "instances.json"), JSON.stringify({ instances: [] }));
  const world = createDeployedDependencies("node", { CLUSTERS_FILE: clustersFile });
  const cluster = await world.clusters("tenant-a");
  if (cluster === undefined) throw new Error("the clusters file has no tenant-a");
  const transport = await world.api(cluster);
  expect(await world.api({ ...cluster, signIn: { ...cluster.signIn } })).toBe(transport);
  expect(await world.cloud(cluster)).toBe(await world.cloud(structuredClone(cluster)));
  await transport.close();
});

test("each function signs in as itself, and a warm one keeps its role", async () => {
  await node.join("a");
  const cluster = await createDeployedDependencies("node", { CLUSTERS_FILE: clustersFile }).clusters(
    "tenant-a",
  );
  if (cluster === undefined) throw new Error("the clusters file has no tenant-a");
  for (const role of ["node", "node-lifecycle"] as const) {
    const world = createDeployedDependencies(role, { CLUSTERS_FILE: clustersFile });
    const transport = await world.api(cluster);
    await transport.send({ method: "GET", path: "/api/v1/nodes/a" });
    expect(await world.api(cluster)).toBe(transport);
    await transport.close();
  }
  const users = (await node.plane.record()).filter(({ verb }) => verb === "get").map(({ user }) => user);
  expect(users).toEqual(expect.arrayContaining(["serverless-ccm-node", "serverless-ccm-node-lifecycle"]));
});

test.each([
  ["the clusters file cannot be read", "nowhere.yaml", undefined],
  ["the clusters file is faulty", "faulty.yaml", "clusters: 1"],
  ["a cloud cannot be loaded", "clusters.yaml", undefined],
])("preparing fails at nothing where %s", async (_, name, text) => {
  const file = join(folder, name);
  if (text !== undefined) await writeFile(file, text);
  await expect(
    createDeployedDependencies("node", { CLUSTERS_FILE: file }).prepare(),
  ).resolves.toBeUndefined();
});

test("a prepared world has the cloud of its file", async () => {
  const instances = join(folder, "instances.json");
  await writeFile(instances, JSON.stringify({ instances: [] }));
  const world = createDeployedDependencies("node", { CLUSTERS_FILE: clustersFile });
  await world.prepare();
  await rm(instances);
  const cluster = await world.clusters("tenant-a");
  if (cluster === undefined) throw new Error("the clusters file has no tenant-a");
  await expect(world.cloud(cluster)).resolves.toMatchObject({ provider: "memory" });
});

test("without CLUSTERS_FILE every object is due again, and the variable is named", async () => {
  const report = await invoke({}, node.event(await node.join("a")));
  expect(report.objects).toMatchObject([{ outcome: "retry", because: { code: "ClustersUnreadable" } }]);
  expect(report.objects[0]?.because.message).toContain("CLUSTERS_FILE is not set");
});

test.each([
  ["10.0.0.0/8", "127.0.0.1 is internal"],
  ["rubbish", 'ALLOWED_NETWORKS: "rubbish" is not a network'],
])("with ALLOWED_NETWORKS of %s no other API server address is connected to", async (networks, says) => {
  const joined = await node.join("a");
  await writeFile(
    join(folder, "instances.json"),
    JSON.stringify({ instances: [...node.cloud.instances.values()] }),
  );
  const report = await invoke(
    { CLUSTERS_FILE: clustersFile, ALLOWED_NETWORKS: networks },
    node.event(joined),
  );
  expect(report.objects).toMatchObject([
    {
      name: "a",
      outcome: "retry",
      because: { code: "Unavailable", message: expect.stringContaining(says) },
    },
  ]);
});
