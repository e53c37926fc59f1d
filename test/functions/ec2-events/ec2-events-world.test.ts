import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { createEc2EventsDependencies } from "#functions/parts/ec2-events/ec2-events-function.ts";
import { lambda } from "#platforms/lambda/platform.ts";
import { type FunctionUnderTest, startFunction } from "#test/functions/function-under-test.ts";

let node: FunctionUnderTest;
let folder: string;
beforeEach(async () => {
  node = await startFunction();
  folder = await mkdtemp(join(tmpdir(), "ec2-events-world-"));
});
afterEach(async () => {
  await node.close();
  await rm(folder, { recursive: true });
});

test("the deployed function signs in as itself, by one connection, and may list nodes", async () => {
  const file = join(folder, "clusters.yaml");
  await writeClustersFile(file, node.entry);
  const world = createEc2EventsDependencies(
    { CLUSTERS_FILE: file, AWS_REGION: "eu-central-1" },
    lambda.openDeployment,
  );
  const [cluster] = await world.clusters();
  if (cluster === undefined) throw new Error("the clusters file has no cluster");
  const transport = await world.api(cluster);
  expect(await world.api({ ...cluster, signIn: { ...cluster.signIn } })).toBe(transport);
  expect((await transport.send({ method: "GET", path: "/api/v1/nodes" })).status).toBe(200);
  await transport.close();
  const lists = (await node.plane.record()).filter(({ verb }) => verb === "list");
  expect(lists).toMatchObject([{ user: "serverless-ccm-ec2-events", resource: "nodes", code: 200 }]);
});
