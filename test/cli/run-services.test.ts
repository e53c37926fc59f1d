import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type EmbeddedControlPlane, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { buildIdentityFlags } from "#emulators/harness/identity-flags.ts";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { getConnectOptions } from "#test/access.ts";
import { type Running, startProgram } from "#test/cli/program.ts";
import { JSON_PATCH } from "#test/emulators/control-plane/client.ts";
import type { Stored } from "#test/functions/services/services-under-test.ts";

const SERVICES = "/api/v1/namespaces/default/services";
const WAIT = { timeout: 30_000, interval: 50 };

let folder: string;
let plane: EmbeddedControlPlane;
let admin: Transport;
let program: Running | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "run-services-"));
  plane = await startEmbeddedControlPlane({ folder: join(folder, "plane") });
  admin = connect(await getConnectOptions(plane, "admin"));
  await writeFile(join(folder, "instances.json"), JSON.stringify({ instances: [] }));
  await writeFile(join(folder, "cloud.yaml"), `instancesFile: ${join(folder, "instances.json")}\n`);
});

afterEach(async () => {
  await program?.end("SIGKILL");
  program = undefined;
  await admin.close();
  await plane.close();
  await rm(folder, { recursive: true });
});

test("run creates load balancers on the memory cloud, follows the nodes, and deletes what it created", async () => {
  await register("node-1");
  program = await start();
  await program.line("Serving");
  const { uid } = (await create("web")).metadata;
  const hostname = `${uid}.memory.example`;
  await vi.waitFor(async () => expect(ingressOf(await read("web"))).toEqual([{ hostname }]), WAIT);
  const before = markOf(await read("web"));
  await register("node-2");
  await vi.waitFor(async () => {
    expect(markOf(await read("web"))).toMatchObject({ state: "applied", desired: before["desired"] });
    expect(markOf(await read("web"))["targets"]).not.toBe(before["targets"]);
  }, WAIT);
  const ports = [{ op: "add", path: "/spec/ports/0/nodePort", value: 32_000 }];
  await ask("PATCH", `${SERVICES}/web`, ports);
  await vi.waitFor(
    async () => expect(markOf(await read("web"))["desired"]).not.toBe(before["desired"]),
    WAIT,
  );
  await ask("DELETE", `${SERVICES}/web`);
  await vi.waitFor(async () => expect(await read("web")).toBeUndefined(), WAIT);
  const { url } = await program.line("Serving");
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toContain('serverless_ccm_load_balancer_delay_seconds_count{cluster="kubernetes"} 1');
  expect(await program.end("SIGTERM")).toBe(0);
});

test("run ignores Services of another class, and serves the others", async () => {
  program = await start();
  await program.line("Serving");
  await create("first");
  await vi.waitFor(async () => expect(ingressOf(await read("first"))).toHaveLength(1), WAIT);
  await create("other", { loadBalancerClass: "example.com/lb" });
  await create("second");
  await vi.waitFor(async () => expect(ingressOf(await read("second"))).toHaveLength(1), WAIT);
  expect((await read("other"))?.metadata.finalizers).toBeUndefined();
  expect(await program.end("SIGTERM")).toBe(0);
});

async function start(): Promise<Running> {
  const cloud = ["--cloud-provider", "memory", "--cloud-config", join(folder, "cloud.yaml")];
  const flags = [...cloud, ...(await buildIdentityFlags(plane)), "--controllers", "service", "--port", "0"];
  return startProgram(["run", ...flags]);
}

async function ask(method: "GET" | "POST" | "PATCH" | "DELETE", path: string, body?: unknown) {
  const contentType = method === "PATCH" ? { contentType: JSON_PATCH } : {};
  return admin.send({ method, path, ...contentType, ...(body === undefined ? {} : { body }) });
}

async function create(name: string, spec: object = {}): Promise<Stored> {
  const { status, body } = await ask("POST", SERVICES, {
    metadata: { name },
    spec: { type: "LoadBalancer", ports: [{ port: 80 }], ...spec },
  });
  expect(status).toBe(201);
  return JSON.parse(body);
}

async function read(name: string): Promise<Stored | undefined> {
  const { status, body } = await ask("GET", `${SERVICES}/${name}`);
  return status === 404 ? undefined : JSON.parse(body);
}

function ingressOf(service: Stored | undefined): unknown {
  return service?.status.loadBalancer.ingress;
}

function markOf(service: Stored | undefined): Record<string, unknown> {
  return JSON.parse(service?.metadata.annotations?.["serverless-ccm.io/load-balancer"] ?? "{}");
}

async function register(name: string): Promise<void> {
  const body = buildJoiningNode({ name, providerID: `memory:///zone-a/i-${name}` });
  expect((await ask("POST", "/api/v1/nodes", body)).status).toBe(201);
}
