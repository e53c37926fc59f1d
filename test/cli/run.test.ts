import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type EmbeddedControlPlane, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { buildIdentityFlags } from "#emulators/harness/identity-flags.ts";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import { type NodeHistory, recordNodeHistory } from "#emulators/harness/node-history.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { getConnectOptions } from "#test/access.ts";
import { getInstance } from "#test/cli/fake-stock.ts";
import { type Running, startProgram } from "#test/cli/program.ts";

let folder: string;
let plane: EmbeddedControlPlane;
let admin: Transport;
let history: NodeHistory;
let program: Running | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "run-"));
  plane = await startEmbeddedControlPlane({ folder: join(folder, "plane") });
  admin = connect(await getConnectOptions(plane, "admin"));
  history = await recordNodeHistory(admin);
  await writeFile(join(folder, "instances.json"), JSON.stringify({ instances: [1, 2, 3].map(getInstance) }));
  await writeFile(join(folder, "cloud.yaml"), `instancesFile: ${join(folder, "instances.json")}\n`);
});

afterEach(async () => {
  await program?.end("SIGKILL");
  program = undefined;
  await history.close();
  await admin.close();
  await plane.close();
  await rm(folder, { recursive: true });
});

describe("run", () => {
  test("initializes nodes, is ready while it can, and ends with 0 on SIGTERM", async () => {
    await register("node-1");
    program = await start();
    const { url } = await program.line("Serving");
    await register("node-2");
    await allUp(2);
    expect(await status(`${url}/readyz`)).toBe(200);
    expect(await status(`${url}/healthz`)).toBe(200);
    expect(await (await fetch(`${url}/metrics`)).text()).toContain(
      "node_controller_initial_node_sync_delay_seconds_count",
    );
    if (process.platform === "linux") {
      const commandLine = await readFile(`/proc/${program.child.pid}/cmdline`, "utf8");
      expect(commandLine).toContain("--max-semi-space-size=");
    }
    expect(await program.end("SIGTERM")).toBe(0);
    expect([...history.records.values()].map(({ naked }) => naked)).toEqual([false, false]);
  });

  test("with --metrics-detail=fleet sums all clusters, and reports for each whether it is ready", async () => {
    await register("node-1");
    program = await start("--metrics-detail=fleet");
    const { url } = await program.line("Serving");
    await allUp(1);
    const text = await (await fetch(`${url}/metrics`)).text();
    expect(text).toContain('serverless_ccm_cluster_ready{cluster="kubernetes"} 1');
    expect(text).toContain('serverless_ccm_objects{controller="cloud-node-controller"} 1');
    expect(text).toMatch(/^process_cpu_seconds_total /m);
    expect(text).not.toMatch(/_bucket\{[^}]*cluster=/);
  });

  test("does not end at SIGHUP, and reports what is read again and what is not", async () => {
    program = await start();
    await program.line("Serving");
    program.child.kill("SIGHUP");
    const message = expect.stringContaining("read again by itself when it changes");
    expect(await program.line("NothingToReread")).toMatchObject({ signal: "SIGHUP", message });
    await register("node-1");
    await allUp(1);
    expect(await program.end("SIGTERM")).toBe(0);
  });

  test("with --dry-run writes nothing and reports what it would write", async () => {
    await register("node-1");
    program = await start("--dry-run");
    const object = await program.line("Object");
    expect(object).toMatchObject({ name: "node-1", outcome: "skipped", because: { code: "DryRun" } });
    const writes = (await plane.record()).filter(
      ({ user, verb }) => user !== "admin" && verb !== "list" && verb !== "watch",
    );
    expect(writes).toEqual([]);
  });

  test("reports why it is not ready while the API server is down, and recovers by itself", async () => {
    await plane.stopServer();
    program = await start();
    const { url } = await program.line("Serving");
    await program.line("WatchFailed");
    const answer = await fetch(`${url}/readyz`);
    expect({ status: answer.status, text: await answer.text() }).toEqual({
      status: 503,
      text: expect.stringContaining("refused"),
    });
    await plane.startServer();
    await program.line("Listed");
    await register("node-3");
    await allUp(1);
  });
});

async function start(...flags: string[]): Promise<Running> {
  const kubeconfigs = await buildIdentityFlags(plane);
  const cloud = ["--cloud-provider", "memory", "--cloud-config", join(folder, "cloud.yaml")];
  return startProgram(["run", ...cloud, ...kubeconfigs, "--port", "0", ...flags]);
}

async function register(name: string): Promise<void> {
  const body = buildJoiningNode({ name, providerID: `memory:///zone-a/i-${name}` });
  const { status: code } = await admin.send({ method: "POST", path: "/api/v1/nodes", body });
  expect(code).toBe(201);
}

function allUp(count: number): Promise<void> {
  const up = (): number =>
    [...history.records.values()].filter(({ schedulableAt }) => schedulableAt !== undefined).length;
  return history.until(`${count} nodes to be initialized`, () => up() === count, 30_000);
}

async function status(url: string): Promise<number> {
  return (await fetch(url)).status;
}
