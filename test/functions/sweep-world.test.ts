import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { createSweepDependencies } from "#functions/parts/sweep-function.ts";
import { lambda } from "#platforms/lambda/platform.ts";

let folder: string;
beforeEach(async () => {
  vi.stubEnv("AWS_REGION", "us-east-1");
  folder = await mkdtemp(join(tmpdir(), "sweep-world-"));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

test("the deployed sweep leaves out a cluster that no function can reach", async () => {
  const file = join(folder, "clusters.yaml");
  const cloud = { provider: "memory", instancesFile: "none.json" };
  const [one, other] = ["one", "other"].map((name) => ({ name, server: "https://a.example.com", cloud }));
  await writeClustersFile(file, one, { ...other, writes: "relay" });
  const world = createSweepDependencies({ CLUSTERS_FILE: file }, lambda.openDeployment);
  expect((await world.clusters()).map(({ name }) => name)).toEqual(["one"]);
  expect((await world.clustersNamed?.(["one", "other"]))?.map(({ name }) => name)).toEqual(["one"]);
});
