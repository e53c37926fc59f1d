import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, expect, test } from "vitest";
import { RELAY_WORKER } from "#cli/relay/relay-worker-data.ts";
import { Cluster } from "#config/cluster.ts";
import { type EmbeddedControlPlane, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { buildClusterEntry } from "#emulators/harness/clusters-file.ts";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { createRelayMetrics } from "#relay/report/metrics.ts";
import { type RelayServer, startRelayServer } from "#relay/server.ts";
import type { LogLine } from "#relay/workers/messages.ts";
import { mergeMetrics, mergeValues } from "#relay/workers/metrics.ts";
import type { Pool } from "#relay/workers/pool.ts";
import { getConnectOptions } from "#test/access.ts";
import { createFakeLimiter } from "#test/relay/workers/fake-limiter.ts";
import { createSteppedPool, MAX_WORKERS } from "#test/relay/workers/stepped-pool.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

const SCRIPT = new URL("spinning-worker.ts", import.meta.url);

let folder: string;
let planes: Readonly<Record<"blue" | "red" | "green", EmbeddedControlPlane>>;
let pool: Pool;
let server: RelayServer;
let lines: LogLine[];
let aheadMs = 0;
let threads = 0;
let stopTurns: () => void;
const spinning = new Int32Array(new SharedArrayBuffer(4 * MAX_WORKERS));

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "relay-worker-"));
  lines = [];
  const plane = (name: string) => startEmbeddedControlPlane({ folder: join(folder, name) });
  planes = { blue: await plane("blue"), red: await plane("red"), green: await plane("green") };
  ({ pool, stop: stopTurns } = createSteppedPool({
    spinning,
    spawn(start) {
      threads += 1;
      const workerData = {
        addresses: { trustsEntries: true, networks: [] },
        spinning,
        kind: RELAY_WORKER,
        start,
        functionFlags: { functionPrefix: "x-" },
        identity: `test-${start.id}`,
        nodeStatusUpdateFrequencySeconds: 300,
      };
      const worker = new Worker(SCRIPT, { workerData });
      worker.once("exit", () => {
        threads -= 1;
      });
      return worker;
    },
    workersFor: () => 2,
    limiter: createFakeLimiter(0),
    longestInvocationMs: 1,
    log: (line) => lines.push(line),
    clock: { ...systemClock, now: () => systemClock.now() + aheadMs },
  }));
  const metrics = createRelayMetrics();
  metrics.follow(pool.status);
  server = await startRelayServer({
    relay: pool,
    metrics: {
      contentType: metrics.contentType,
      text: async () => mergeMetrics([await metrics.values()], await pool.metrics()),
    },
    values: async () => mergeValues([await metrics.values()], await pool.metrics()),
    bindAddress: "127.0.0.1",
    port: 0,
  });
});
afterEach(async () => {
  stopTurns();
  await pool.close();
  await server.close();
  for (const plane of Object.values(planes)) await plane.close();
  await rm(folder, { recursive: true });
  expect(threads).toBe(0);
});

function clusterOf(name: "blue" | "red" | "green"): Cluster {
  const cloud = { provider: "memory", instancesFile: "none.json" } as const;
  return Cluster.parse(
    buildClusterEntry(planes[name], { name, cloud, controllers: ["cloud-node-controller"] }),
  );
}

async function asAdmin<T>(name: "blue" | "red" | "green", use: (admin: Transport) => Promise<T>): Promise<T> {
  const admin = connect(await getConnectOptions(planes[name], "admin"));
  try {
    return await use(admin);
  } finally {
    await admin.close();
  }
}

const register = (name: "blue" | "red" | "green", node: string) =>
  asAdmin(name, async (admin) => {
    const { status } = await admin.send({
      method: "POST",
      path: "/api/v1/nodes",
      body: buildJoiningNode({ name: node }),
    });
    expect(status).toBe(201);
  });
const said = (event: string): LogLine[] => lines.filter((line) => line["event"] === event);
const ready = (...names: readonly string[]): Promise<void> =>
  waitUntilTrue(`${names} to be ready`, () => names.every((name) => pool.ready(name)));
const objectsOf = (name: string): number | undefined =>
  pool.status().find((status) => status.name === name)?.objects;

async function page(path: string): Promise<[number, string]> {
  const answer = await fetch(`${server.url}${path}`, { signal: AbortSignal.timeout(120_000) });
  return [answer.status, await answer.text()];
}

test("an object that stops its worker affects only its own cluster, which is isolated and recovers without the object", async () => {
  for (const name of ["red", "blue", "green"] as const)
    void pool.setDesiredState(name, clusterOf(name), true);
  await ready("red", "blue", "green");
  await register("blue", "node-1");
  await waitUntilTrue("blue to see its node", () => objectsOf("blue") === 1);
  const { length } = said("Listed").filter((line) => line["cluster"] === "blue");

  await register("red", "spin");
  await waitUntilTrue("the first death", () => said("WorkerDied").length >= 1);
  // The worker of red and green hangs again as soon as it has seen the object.
  await waitUntilTrue("the second death", () => said("WorkerDied").length >= 2);
  for (const each of said("WorkerDied"))
    expect(each).toMatchObject({ reason: "unresponsive", cluster: "red" });
  await ready("green");
  expect(pool.isQuarantined("red")).toBe(true);
  // It hangs once more, alone; meanwhile the endpoints answer.
  expect(await page("/healthz")).toEqual([200, "ok"]);
  // Its worker is restarted from time to time, and lists then.
  await waitUntilTrue("the page to say that red is alone", async () => {
    const [status, text] = await page("/readyz/clusters/red");
    expect(status).toBe(503);
    return text.includes("not ready: Quarantined: ");
  });
  const [status, text] = await page("/metrics");
  expect(status).toBe(200);
  for (const series of [
    'serverless_ccm_cluster_ready{cluster="red"} 0',
    'serverless_ccm_cluster_ready{cluster="blue"} 1',
    'serverless_ccm_objects{cluster="blue",controller="cloud-node-controller"} 1',
    'serverless_ccm_lists_total{cluster="blue",resource="nodes",cause="start"} 1',
  ])
    expect(text).toContain(series);

  await waitUntilTrue("the third death", () => said("WorkerDied").length >= 3);
  await asAdmin("red", (admin) => admin.send({ method: "DELETE", path: "/api/v1/nodes/spin" }));
  aheadMs += 20_000;
  await ready("red");
  expect([await page("/readyz/clusters/red"), pool.isQuarantined("red")]).toEqual([[200, "ok"], true]);

  // The other clusters are not affected: blue was listed only once.
  expect(said("Listed").filter((line) => line["cluster"] === "blue")).toHaveLength(length);
  expect(await pool.drain(new AbortController().signal)).toBe(true);
});
