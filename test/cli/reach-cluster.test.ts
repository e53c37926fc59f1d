import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connectCluster, connectClusters, type ReachFlags } from "#cli/clusters/reach-cluster.ts";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { type ClusterInReach, startClusterInReach } from "#test/cli/cluster-in-reach.ts";

let world: ClusterInReach;
let file: string;

beforeAll(async () => {
  world = await startClusterInReach();
  file = join(world.folder, "clusters.yaml");
  const entry = (name: string, more: object = {}) => ({
    name,
    server: world.plane.server,
    certificateAuthorityFile: world.plane.certificateAuthorityFile,
    signIn: {
      relay: { kind: "token-file", file: world.plane.tokenFile("relay") },
      node: { kind: "token-file", file: world.plane.tokenFile("node") },
    },
    cloud: { provider: "memory", instancesFile: "/absent" },
    ...more,
  });
  const clusters = [entry("tenant-a"), entry("tenant-b"), entry("tenant-c", { vcp: 1 })];
  await writeFile(file, JSON.stringify({ clusters }));
});
afterAll(() => world.close());

test("a cluster of a file is reached as either of its identities", async () => {
  const reached = await connectCluster("tenant-b", inFile(), {});
  const list = async (role: "relay" | "node") =>
    (await (await reached.api(role)).send({ method: "GET", path: "/api/v1/nodes?limit=1" })).status;
  expect([reached.cluster.name, await list("relay"), await list("node")]).toEqual(["tenant-b", 200, 403]);
  await reached.close();
});

test("the file of the environment is used if no kubeconfig is given", async () => {
  const flags: ReachFlags = { clusterName: "kubernetes", controllers: "*", given: new Set() };
  const reached = await connectCluster("tenant-a", flags, { CLUSTERS_FILE: file });
  expect(reached.cluster.name).toBe("tenant-a");
  await reached.close();
});

test("a cluster by flags has the command's name for it, and may lack a cloud", async () => {
  const flags = await world.flags("relay", { clusterName: "kubernetes" });
  const reached = await connectCluster("tenant-z", flags, {}, { noCloud: true });
  expect(reached.cluster.name).toBe("tenant-z");
  await reached.close();
});

test("identities that share a sign-in are known, by flags and in a file", async () => {
  const roles = ["relay", "node", "node-lifecycle"] as const;
  const relayKubeconfig = await world.plane.kubeconfig("relay");
  const functionKubeconfig = [`node-lifecycle=${await world.plane.kubeconfig("node-lifecycle")}`];
  const one = await connectCluster("a", await world.flags("node"), {}, { noCloud: true });
  const several = await connectCluster(
    "a",
    await world.flags("node", { relayKubeconfig, functionKubeconfig }),
    {},
    { noCloud: true },
  );
  const ofFile = await connectCluster("tenant-a", inFile(), {});
  expect([one, several, ofFile].map(({ signInOf }) => roles.map(signInOf))).toEqual([
    ["functions", "functions", "functions"],
    ["relay", "functions", "node-lifecycle"],
    ["relay", "node", undefined],
  ]);
  await Promise.all([one, several, ofFile].map((each) => each.close()));
});

test("without a name all clusters of a file are reached, and the others' faults are returned", async () => {
  const { clusters, faults } = await connectClusters(undefined, inFile(), {});
  expect(clusters.map(({ cluster }) => cluster.name)).toEqual(["tenant-a", "tenant-b"]);
  expect(faults).toEqual([
    {
      name: expect.stringContaining("cluster tenant-c: vcp"),
      message: expect.stringContaining("unknown key"),
    },
  ]);
});

test.each<[string, string | undefined, () => Promise<ReachFlags>, string, string]>([
  ["no name where a file has several", undefined, async () => inFile(), "CLUSTER", "is missing: name one"],
  ["an unknown name", "tenat-a", async () => inFile(), "clusters.yaml", "did you mean tenant-a?"],
  ["a name like no other", "x", async () => inFile(), "clusters.yaml", "it has tenant-a, tenant-b"],
  ["an entry with a fault", "tenant-c", async () => inFile(), "cluster tenant-c: vcp", "unknown key"],
  [
    "a missing file",
    "tenant-a",
    async () => ({ ...inFile(), clustersFile: "/absent.yaml" }),
    "/absent.yaml",
    "cannot be read",
  ],
  [
    "a flag for one cluster with a file",
    "tenant-a",
    async () => ({ ...inFile(), given: new Set(["--delete-nodes"]) }),
    "--delete-nodes",
    "describes one cluster",
  ],
  [
    "two names",
    "tenant-b",
    () => world.flags("relay", { given: new Set(["--kubeconfig", "--cluster-name"]) }),
    "--cluster-name",
    'says "tenant-a", and the command is for "tenant-b"',
  ],
  ["a missing cloud", undefined, () => world.flags("relay"), "--cloud-provider", "is required"],
  [
    "no kubeconfig",
    undefined,
    async () => ({ clusterName: "tenant-a", controllers: "*", given: new Set<string>() }),
    "--kubeconfig",
    "is required",
  ],
])("%s is a fault by name", async (_, name, flags, at, message) => {
  const error = await connectCluster(name, await flags(), {}).catch((reason: unknown) => reason);
  if (!(error instanceof ConfigurationError)) throw new Error(`expected a fault, got ${String(error)}`);
  expect(error.faults).toContainEqual({
    name: expect.stringContaining(at),
    message: expect.stringContaining(message),
  });
});

function inFile(): ReachFlags {
  return { clusterName: "kubernetes", controllers: "*", clustersFile: file, given: new Set() };
}
