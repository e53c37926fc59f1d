import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { getPercentile } from "#bench/report/percentile.ts";
import { createInProcessInvoker } from "#cli/run/in-process-functions.ts";
import { createMemoryCloud, type MemoryInstances } from "#clouds/memory/cloud.ts";
import { Cluster } from "#config/cluster.ts";
import { signIn } from "#config/sign-in.ts";
import { nodeController } from "#core/node/controller.ts";
import { buildClusterEntry } from "#emulators/harness/clusters-file.ts";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import {
  type ControlPlaneBinaries,
  OUR_MANIFESTS,
  startKubeApiserver,
  WRITES_RELAY,
} from "#emulators/harness/kube-apiserver.ts";
import { recordNodeHistory } from "#emulators/harness/node-history.ts";
import { createConnectionCache } from "#functions/parts/connection-cache.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import { connect } from "#kube/client/connect.ts";
import type { Invoker } from "#platforms/invoker.ts";
import { startRelay } from "#relay/relay.ts";
import { getConnectOptions } from "#test/access.ts";
import { buildRunningInstance, getAddress } from "#test/clouds/memory/running-instance.ts";
import { getControlPlaneBinaries } from "#test/setup/control-plane-binaries.ts";

// Compares the costs of `writes: relay` and `writes: function`: `node bench/writes.ts`. Nodes join at once on
// a real kube-apiserver; functions run in the relay's process with JSON in both directions, in interleaved
// runs. Prints a table of ratios.

const NODES = 1_000;
const RUNS = 5;
const CREATED_AT_ONCE = 32;

interface Measured {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly lastMs: number;
  readonly reportBytes: number;
  readonly invocations: number;
  readonly cpuMs: number;
  readonly load: number;
}

async function measure(binaries: ControlPlaneBinaries, writes: Cluster["writes"]): Promise<Measured> {
  const folder = await mkdtemp(join(tmpdir(), "bench-writes-"));
  const manifests = [...OUR_MANIFESTS, WRITES_RELAY];
  const plane = await startKubeApiserver({ folder: join(folder, "plane"), binaries, manifests });
  const { signIn: all, ...entry } = buildClusterEntry(plane, {
    name: "tenant-a",
    cloud: { provider: "memory", instancesFile: "unused" },
    controllers: [nodeController.name],
    writes,
  });
  const cluster = Cluster.parse({ ...entry, signIn: writes === "relay" ? { relay: all?.relay } : all });
  const cloud: MemoryInstances = { instances: new Map() };
  const api = createConnectionCache({ role: "node", most: 1, answersAlone: true });
  const node = createControllerFunction(nodeController, {
    clusters: async () => cluster,
    cloud: async () => createMemoryCloud(cloud),
    api,
    now: () => new Date(),
  });
  let reportBytes = 0;
  let invocations = 0;
  const functions = createInProcessInvoker(new Map([[nodeController.name, node]]), 30_000);
  const invoker: Invoker = {
    close: () => functions.close(),
    async invoke(event, signal) {
      const invocation = await functions.invoke(event, signal);
      invocations += 1;
      if (invocation.kind === "report") reportBytes += Buffer.byteLength(JSON.stringify(invocation.report));
      return invocation;
    },
  };
  const admin = connect(await getConnectOptions(plane, "admin"));
  const history = await recordNodeHistory(admin);
  const relay = startRelay({
    clusters: [
      { cluster, transport: connect({ server: cluster.server, ...(await signIn(cluster, "relay")) }) },
    ],
    invoker,
    identity: "bench",
    nodeStatusUpdateFrequencySeconds: 300,
  });
  while (!relay.ready()) await new Promise((resolve) => setTimeout(resolve, 20));
  const cpu = process.cpuUsage();
  const startedMs = performance.now();
  const names = Array.from({ length: NODES }, (_, index) => `node-${index + 1}`);
  for (const [index, name] of names.entries())
    cloud.instances.set(name, buildRunningInstance(name, getAddress(index)));
  const waiting = [...names];
  const create = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift())
      await admin.send({ method: "POST", path: "/api/v1/nodes", body: buildJoiningNode({ name }) });
  };
  await Promise.all(Array.from({ length: CREATED_AT_ONCE }, create));
  await history.until("all to come up", () => history.schedulable === NODES, 300_000);
  const { user, system } = process.cpuUsage(cpu);
  const records = [...history.records.values()];
  const took = records.map(({ addedAt, schedulableAt = 0 }) => schedulableAt - addedAt);
  const lastMs = Math.max(...records.map(({ schedulableAt = 0 }) => schedulableAt)) - startedMs;
  await relay.close();
  if (writes === "function") await (await api(cluster)).close();
  await history.close();
  await admin.close();
  await plane.close();
  await rm(folder, { recursive: true });
  return {
    ...{
      p50Ms: getPercentile(took, 0.5) ?? 0,
      p99Ms: getPercentile(took, 0.99) ?? 0,
      lastMs,
      reportBytes,
      invocations,
    },
    cpuMs: (user + system) / 1_000,
    load: loadavg()[0] ?? 0,
  };
}

const part = await getControlPlaneBinaries((line) => process.stderr.write(`${line}\n`));
if (part.kind === "missing") throw new Error(`the bench needs a control plane: ${part.because}`);
const runs: { readonly byFunction: Measured; readonly byRelay: Measured }[] = [];
for (let run = 0; run < RUNS; run += 1) {
  const byFunction = await measure(part.value, "function");
  const byRelay = await measure(part.value, "relay");
  runs.push({ byFunction, byRelay });
  process.stderr.write(`${JSON.stringify({ byFunction, byRelay })}\n`);
}

const ROWS: readonly (readonly [string, (measured: Measured) => number])[] = [
  ["joining to schedulable, p50", ({ p50Ms }) => p50Ms],
  ["joining to schedulable, p99", ({ p99Ms }) => p99Ms],
  ["until the last is up", ({ lastMs }) => lastMs],
  ["bytes of reports a node", ({ reportBytes }) => reportBytes / NODES],
  ["invocations", ({ invocations }) => invocations],
  ["CPU of relay, functions and the watcher together", ({ cpuMs }) => cpuMs],
];
const median = (values: readonly number[]): number => getPercentile(values, 0.5) ?? 0;
const loads = runs.flatMap(({ byFunction, byRelay }) => [byFunction.load, byRelay.load]);
const lines = ROWS.map(([what, read]) => {
  const ratio = median(runs.map(({ byFunction, byRelay }) => read(byRelay) / read(byFunction)));
  return `| ${what} | ${ratio.toFixed(2)} |`;
});
process.stdout.write(
  [
    "| of `writes: function` | `writes: relay` is |",
    "|---|---|",
    ...lines,
    "",
    `${NODES} nodes at once, ${RUNS} runs of each, interleaved; medians of the ratios. Load of the machine: ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}.`,
    "",
  ].join("\n"),
);
