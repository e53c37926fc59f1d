import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ClusterEntry } from "#config/cluster.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import { buildClusterEntry, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { type FunctionPlatform, startFunctionPlatform } from "#emulators/harness/function-platform.ts";
import { makeFunctionProject } from "#test/build/function-project.ts";
import type { Running } from "#test/cli/program.ts";
import { type Stage, startStage, waitUntil } from "#test/e2e/stage.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { countWritesByNode } from "#test/witness/requests.ts";

const NODES = 60;
/** How many of them join while the platform is down. */
const LATE_NODES = 10;
const REFUSAL_TIMEOUT_MS = 60_000;

describeWithPart("control-plane", "the packaged function, invoked through AWS's SDK", (binaries) => {
  let stage: Stage;
  let platform: FunctionPlatform;
  let relay: Running;
  /** The functions have their own file, as deployed ones do. */
  let functionsFile = "";

  beforeEach(async () => {
    stage = await startStage(binaries);
    const project = join(stage.folder, "project");
    await makeFunctionProject(project);
    const clustersFile = join(stage.folder, "clusters.yaml");
    functionsFile = join(stage.folder, "functions-clusters.yaml");
    for (const file of [clustersFile, functionsFile]) await writeCluster(stage, file, {});
    platform = await startFunctionPlatform({
      project,
      folder: join(stage.folder, "platform"),
      environment: { ...stage.environment, CLUSTERS_FILE: functionsFile },
    });
    const flags = [
      "--clusters-file",
      clustersFile,
      "--function-prefix",
      "serverless-ccm-dev-",
      "--port",
      "0",
    ];
    relay = stage.program(["relay", ...flags], { AWS_ENDPOINT_URL_LAMBDA: platform.url });
    await relay.line("Listed");
  });
  afterEach(async () => {
    await platform?.close();
    await stage?.close();
  });

  test("brings every node up, although the platform is killed after the 20th write and comes back", async () => {
    const joining = stage.join(NODES - LATE_NODES);
    await stage.untilWrites(20);
    await platform.stop("SIGKILL");
    const instances = await joining;
    // Even if the platform completed all earlier work before its end, these nodes come too late for it.
    const late = await stage.join(LATE_NODES);
    await relay.line("InvocationFailed");
    await platform.start();
    await stage.untilUp([...instances, ...late]);
    expect(await stage.flaws()).toEqual([]);
    expect(await relay.end("SIGTERM")).toBe(0);
  });

  test("with another configuration than the relay's writes nothing, and continues once they agree", async () => {
    await writeCluster(stage, functionsFile, { limits: { invocations: 3 } });
    const instances = await stage.join(5);
    const refused = (name: string): boolean => relay.lines.some((line) => isRefusal(line, name));
    const all = async (): Promise<boolean> => instances.every((each) => refused(each.privateDnsName));
    await waitUntil("every node to be refused", all, REFUSAL_TIMEOUT_MS);
    expect(countWritesByNode(await stage.plane.record()).size).toBe(0);
    await writeCluster(stage, functionsFile, {});
    await stage.untilUp(instances);
    expect(await stage.flaws()).toEqual([]);
    expect(await relay.end("SIGTERM")).toBe(0);
  });
});

function isRefusal(line: Readonly<Record<string, unknown>>, name: string): boolean {
  const { event, outcome, because } = line;
  const code = (because as { readonly code?: string } | undefined)?.code;
  return (
    event === "Object" &&
    line["name"] === name &&
    outcome === "retry" &&
    code === "ClusterConfigurationDiffers"
  );
}

function writeCluster({ plane, ec2 }: Stage, file: string, difference: Partial<ClusterEntry>): Promise<void> {
  const cloud = { provider: "aws", region: ec2.region, vpc: DEFAULT_VPC_ID } as const;
  return writeClustersFile(file, buildClusterEntry(plane, { name: "tenant-a", cloud, ...difference }));
}
