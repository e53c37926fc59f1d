import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import * as z from "zod";
import { buildAwsEnvironment } from "#bench/contenders/process-contender.ts";
import type { MeasuredFunction, MeasuredInvocation, Timing } from "#bench/cost/measured.ts";
import { type Environment, type Invocation, startEnvironment } from "#bench/invocation/start-environment.ts";
import { type BenchStage, setBenchStage } from "#bench/stage.ts";
import { aws } from "#clouds/aws/provider.ts";
import { Cluster } from "#config/cluster.ts";
import type { Event } from "#core/event.ts";
import { Node } from "#core/node/node.ts";
import { projectNode } from "#core/node/snapshot.ts";
import { Report } from "#core/report.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import { buildClusterEntry, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import { getControlPlaneBinaries } from "#test/setup/control-plane-binaries.ts";

// Prints the cost of invocations of the packaged function, as JSON: the `function` of bench/cost/measured.json.
//
// It uses a real API server and an embedded EC2 endpoint that takes 60 ms for each call. Each cold invocation
// runs the bundle of dist/ in a new process; the warm ones of a size share a process. Results are medians.
// Run `npm run build` first.

/** Milliseconds of each call to the cloud, as from a machine in the same region. */
const CLOUD_LATENCY_MS = 60;

/** Nodes of a batch, and the number of cold and warm measurements of each size. */
const SIZES = [
  { nodes: 1, cold: 9, warm: 25 },
  { nodes: 20, cold: 7, warm: 15 },
  { nodes: 100, cold: 5, warm: 9 },
] as const;

/** Warm invocations that do not count, while Node compiles the code. */
const UNCOUNTED = 5;

const SERVERLESS_YML = fileURLToPath(new URL("../serverless.yml", import.meta.url));

interface Run extends Invocation {
  readonly cloudCalls: number;
}

const binaries = await getControlPlaneBinaries((line) => void process.stderr.write(`${line}\n`));
if (binaries.kind === "missing") throw new Error(`a control plane is needed: ${binaries.because}`);
const stage = await setBenchStage(binaries.value, CLOUD_LATENCY_MS);
try {
  process.stdout.write(`${JSON.stringify(await measureFunction(stage), undefined, 2)}\n`);
} finally {
  await stage.close();
}

async function measureFunction(on: BenchStage): Promise<MeasuredFunction> {
  const cluster = await writeCluster(on);
  const starts: Timing[] = [];
  const all: Run[] = [];
  const initialize: MeasuredInvocation[] = [];
  const look: MeasuredInvocation[] = [];
  for (const size of SIZES) {
    const cold = await measureColdRuns(on, cluster, size.nodes, size.cold, starts);
    const warm = await measureWarmRuns(on, cluster, size.nodes, size.warm);
    initialize.push(summarizeRuns(size.nodes, warm.initialize, cold.initialize));
    look.push(summarizeRuns(size.nodes, warm.look, cold.look));
    all.push(...cold.initialize, ...cold.look, ...warm.initialize, ...warm.look);
  }
  return {
    memoryMB: await readDeployedMemoryMB(),
    peakMemoryMiB: round(Math.max(...all.map(({ peakMemoryMiB }) => peakMemoryMiB))),
    cloudLatencyMs: CLOUD_LATENCY_MS,
    start: getMedianTiming(starts),
    initialize,
    look,
  };
}

/** Two runs on the same nodes: as they join, and again without work left. */
interface Runs {
  readonly initialize: Run[];
  readonly look: Run[];
}

async function measureColdRuns(
  on: BenchStage,
  cluster: Cluster,
  nodes: number,
  repetitions: number,
  starts: Timing[],
): Promise<Runs> {
  const runs: Runs = { initialize: [], look: [] };
  for (let repetition = 0; repetition < repetitions; repetition += 1) {
    const names = await registerNodes(on, nodes);
    for (const kind of ["initialize", "look"] as const) {
      const environment = await startEnvironment(buildVariables(on));
      starts.push(environment.start);
      runs[kind].push(await measureRun(on, environment, await buildEvent(on, cluster, names, kind)));
      await environment.end();
    }
  }
  return runs;
}

async function measureWarmRuns(
  on: BenchStage,
  cluster: Cluster,
  nodes: number,
  repetitions: number,
): Promise<Runs> {
  const runs: Runs = { initialize: [], look: [] };
  const environment = await startEnvironment(buildVariables(on));
  for (let repetition = -UNCOUNTED; repetition < repetitions; repetition += 1) {
    const names = await registerNodes(on, nodes);
    for (const kind of ["initialize", "look"] as const) {
      const run = await measureRun(on, environment, await buildEvent(on, cluster, names, kind));
      if (repetition >= 0) runs[kind].push(run);
    }
  }
  await environment.end();
  return runs;
}

function summarizeRuns(nodes: number, warm: readonly Run[], cold: readonly Run[]): MeasuredInvocation {
  const counted = (key: "cloudCalls" | "logLines" | "logBytes"): number =>
    getMedian(warm.map((run) => run[key]));
  return {
    nodes,
    warm: getMedianTiming(warm),
    cold: getMedianTiming(cold),
    cloudCalls: counted("cloudCalls"),
    logLines: counted("logLines"),
    logBytes: counted("logBytes"),
  };
}

async function measureRun(on: BenchStage, environment: Environment, event: Event): Promise<Run> {
  const before = (await on.ec2.calls()).length;
  const run = await environment.invoke(event);
  assertAllWell(event, run.report);
  return { ...run, cloudCalls: (await on.ec2.calls()).length - before };
}

/** A run without its work must not count. */
function assertAllWell(event: Event, answer: unknown): void {
  const expected = event.reason === "watch" ? "changed" : "unchanged";
  const { objects } = Report.parse(answer);
  const other = objects.find(({ outcome }) => outcome !== expected);
  if (objects.length !== event.objects.length || other !== undefined) {
    throw new Error(`not all of ${event.objects.length} nodes are ${expected}: ${JSON.stringify(other)}`);
  }
}

/** Launches instances and registers their nodes; resolves to the names. */
async function registerNodes(on: BenchStage, count: number): Promise<readonly string[]> {
  const instances = await on.ec2.addInstances(count);
  await Promise.all(
    instances.map(async ({ privateDnsName: name, id, availabilityZone }) => {
      const body = buildJoiningNode({ name, providerID: `aws:///${availabilityZone}/${id}` });
      const { status, body: answer } = await on.admin.send({ method: "POST", path: "/api/v1/nodes", body });
      if (status !== 201)
        throw new Error(`registering ${name} was answered ${status}: ${answer.slice(0, 300)}`);
    }),
  );
  return instances.map(({ privateDnsName }) => privateDnsName);
}

async function buildEvent(
  on: BenchStage,
  cluster: Cluster,
  names: readonly string[],
  kind: "initialize" | "look",
): Promise<Event> {
  const objects = await Promise.all(
    names.map(async (name) => {
      const { body } = await on.admin.send({ method: "GET", path: `/api/v1/nodes/${name}` });
      return projectNode(Node.parse(JSON.parse(body)), aws.labelPrefixes);
    }),
  );
  return {
    version: 1,
    id: randomUUID(),
    cluster: cluster.name,
    clusterHash: cluster.hash,
    controller: "cloud-node-controller",
    reason: kind === "initialize" ? "watch" : "refresh",
    objects,
    budget: { share: 1 },
  };
}

async function writeCluster(on: BenchStage): Promise<Cluster> {
  const entry = buildClusterEntry(on.plane, {
    name: "bench",
    cloud: { provider: "aws", region: on.ec2.region, vpc: DEFAULT_VPC_ID },
  });
  await writeClustersFile(getClustersFile(on), entry);
  return Cluster.parse(entry);
}

function buildVariables(on: BenchStage): Readonly<Record<string, string | undefined>> {
  return { ...buildAwsEnvironment(on.ec2.url, on.ec2.region), CLUSTERS_FILE: getClustersFile(on) };
}

function getClustersFile(on: BenchStage): string {
  return join(on.folder, "clusters.yaml");
}

/** Reads the memory of the deployed function. */
async function readDeployedMemoryMB(): Promise<number> {
  const Deployed = z.object({ functions: z.object({ node: z.object({ memorySize: z.int() }) }) });
  return Deployed.parse(parse(await readFile(SERVERLESS_YML, "utf8"))).functions.node.memorySize;
}

function getMedianTiming(timings: readonly Timing[]): Timing {
  return {
    wallMs: round(getMedian(timings.map(({ wallMs }) => wallMs))),
    cpuMs: round(getMedian(timings.map(({ cpuMs }) => cpuMs))),
  };
}

function getMedian(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
