import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { getPercentile } from "#bench/report/percentile.ts";
import { buildIdentityFlags } from "#emulators/harness/identity-flags.ts";
import { OUR_MANIFESTS, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { type NodeHistory, recordNodeHistory } from "#emulators/harness/node-history.ts";
import { startAtMost } from "#kube/client/semaphore.ts";
import { type Running, startProgram } from "#test/cli/program.ts";
import { buildInstance, startAuditStage } from "#test/functions/audit/audit-stage.ts";
import { startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { getControlPlaneBinaries } from "#test/setup/control-plane-binaries.ts";

// Prints how long nodes wait with kube-apiserver's own audit webhook and no relay, and with a relay.
//
// Each trigger gets a new kube-apiserver. Nodes join one by one, at random moments, and then 1,000 at once. Times
// are from the API server's own watch. The functions run in one process: with the webhook that of this program,
// with a relay that of `run`. The cloud takes 60 ms for a call with the webhook, and no time with the relay.

const SINGLE = 20;
const BURST = 1_000;
/** Nodes that register at the same moment. */
const MAX_JOINING = 64;
const TIMEOUT_MS = 180_000;
const CONTROLLERS = ["cloud-node-controller", "cloud-node-lifecycle-controller"];

const single = Array.from({ length: SINGLE }, (_, index) => `single-${index}`);
const burst = Array.from({ length: BURST }, (_, index) => `burst-${index}`);

const found = await getControlPlaneBinaries((line) => void process.stderr.write(`${line}\n`));
if (found.kind === "missing") throw new Error(`a control plane is needed: ${found.because}`);
const binaries = found.value;

const loads = [loadavg()[0] ?? 0];
const rows = [await measureWebhook(), await measureRelay()];
loads.push(loadavg()[0] ?? 0);
process.stdout.write(`load average ${loads.map((load) => load.toFixed(1)).join(" to ")}\n`);
process.stdout.write(`${rows.map((row) => JSON.stringify(row)).join("\n")}\n`);

async function measureWebhook(): Promise<object> {
  const stage = await startAuditStage(
    (options) => startKubeApiserver({ ...options, binaries, flags: options.flags ?? [] }),
    OUR_MANIFESTS,
    CONTROLLERS,
  );
  try {
    const history = await recordNodeHistory(stage.admin);
    const times = await measure(history, (name) => stage.join([name]));
    const { statuses } = stage.url;
    await history.close();
    return {
      trigger: "audit webhook",
      ...times,
      requests: statuses.length,
      invocations: stage.events.length,
    };
  } finally {
    await stage.close();
  }
}

async function measureRelay(): Promise<object> {
  const folder = await mkdtemp(join(tmpdir(), "bench-audit-"));
  const cluster = await startCluster((home) => startKubeApiserver({ folder: home, binaries }));
  let relay: Running | undefined;
  try {
    const instances = [...single, ...burst].map(buildInstance);
    await writeFile(join(folder, "instances.json"), JSON.stringify({ instances }));
    await writeFile(join(folder, "cloud.yaml"), `instancesFile: ${join(folder, "instances.json")}\n`);
    const flags = ["--cloud-provider", "memory", "--cloud-config", join(folder, "cloud.yaml")];
    flags.push(...(await buildIdentityFlags(cluster.plane)), "--port", "0");
    relay = startProgram(["run", ...flags], {});
    await relay.line("Listed");
    const history = await recordNodeHistory(await cluster.transport("admin"));
    const times = await measure(history, (name) => cluster.join({ name }));
    await history.close();
    return { trigger: "relay", ...times };
  } finally {
    await relay?.end("SIGKILL");
    await cluster.close();
    await rm(folder, { recursive: true });
  }
}

/** Milliseconds from a node's first version to the first schedulable one. */
async function measure(history: NodeHistory, joinNode: (name: string) => Promise<unknown>): Promise<object> {
  for (const [index, name] of single.entries()) {
    await sleep(1_000 * Math.random());
    await joinNode(name);
    await history.until(name, () => history.schedulable === index + 1, TIMEOUT_MS);
  }
  const ones = [...history.records.values()].map(({ addedAt, schedulableAt = 0 }) => schedulableAt - addedAt);
  const startedMs = performance.now();
  const joining = Promise.all(startAtMost(MAX_JOINING, burst, joinNode));
  await history.until("the burst", () => history.schedulable === SINGLE + BURST, TIMEOUT_MS);
  await joining;
  const records = [...history.records.values()];
  const last = Math.max(...records.map(({ schedulableAt = 0 }) => schedulableAt));
  const round = (ms: number | undefined): number => Math.round(ms ?? 0);
  return {
    oneP50Ms: round(getPercentile(ones, 0.5)),
    oneMaxMs: round(Math.max(...ones)),
    burstTotalMs: round(last - startedMs),
    naked: records.filter(({ naked }) => naked).length,
    hole: history.hole,
  };
}
