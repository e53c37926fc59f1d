import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ClusterEntry } from "#config/cluster.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { buildClusterEntry, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import { startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { type NodeHistory, recordNodeHistory } from "#emulators/harness/node-history.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { getConnectOptions } from "#test/access.ts";
import { getInstance, register } from "#test/cli/fake-stock.ts";
import { type Running, runProgram, startProgram } from "#test/cli/program.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

/** A control plane, as its administrator sees it. */
interface Tenant {
  readonly name: string;
  readonly plane: ControlPlane;
  readonly admin: Transport;
  readonly history: NodeHistory;
}

let folder: string;
let file: string;
let program: Running | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "run-clusters-"));
  file = join(folder, "clusters.yaml");
  const instances = [1, 2, 3, 4, 5].map(getInstance);
  await writeFile(join(folder, "instances.json"), JSON.stringify({ instances }));
});
afterAll(() => rm(folder, { recursive: true }));
afterEach(async () => {
  await program?.end("SIGKILL");
  program = undefined;
});

async function tenantOf(name: string, plane: ControlPlane): Promise<Tenant> {
  const admin = connect(await getConnectOptions(plane, "admin"));
  return { name, plane, admin, history: await recordNodeHistory(admin) };
}

const embedded = async (name: string): Promise<Tenant> =>
  tenantOf(name, await startEmbeddedControlPlane({ folder: join(folder, name) }));

async function end({ history, admin, plane }: Tenant): Promise<void> {
  await history.close();
  await admin.close();
  await plane.close();
}

const entry = ({ name, plane }: Pick<Tenant, "name" | "plane">, difference: Partial<ClusterEntry> = {}) =>
  buildClusterEntry(plane, {
    name,
    cloud: { provider: "memory", instancesFile: join(folder, "instances.json") },
    ...difference,
  });

function start(...flags: readonly string[]): Running {
  program = startProgram(["run", `--clusters-file=${file}`, "--port=0", ...flags]);
  return program;
}

async function page(path: string): Promise<[number, string]> {
  const { url } = (await program?.line("Serving")) ?? {};
  const answer = await fetch(`${url}${path}`);
  return [answer.status, await answer.text()];
}

const isUp = ({ history }: Tenant, count: number): boolean => history.schedulable >= count;

async function allUp(tenants: readonly Tenant[], count: number): Promise<void> {
  const left = (): string[] => tenants.filter((each) => !isUp(each, count)).map(({ name }) => name);
  await waitUntilTrue("every node to come up", () => left().length === 0, 90_000).catch((cause) => {
    throw new Error(`no node came up in ${left().join(", ")}`, { cause });
  });
}

const naked = (tenants: readonly Tenant[]): string[] =>
  tenants.flatMap(({ name, history }) =>
    [...history.records.values()].filter((node) => node.naked).map((node) => `${name}/${node.name}`),
  );

describeWithPart("control-plane", "run with twenty-one clusters", (binaries) => {
  let tenants: readonly Tenant[];
  let silent: Server;

  beforeAll(async () => {
    const names = Array.from({ length: 18 }, (_, index) => `tenant-${index}`);
    const real = startKubeApiserver({ folder: join(folder, "real"), binaries });
    tenants = [...(await Promise.all(names.map(embedded))), await tenantOf("real", await real)];
    // It accepts connections and never answers.
    silent = createServer((socket) => void socket.on("error", () => {}).resume());
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  }, 120_000);
  afterAll(async () => {
    await Promise.all(tenants.map(end));
    await new Promise((resolve) => silent.close(resolve));
  });

  const except = (name: string): readonly Tenant[] => tenants.filter((each) => each.name !== name);
  const join1 = (all: readonly Tenant[], number: number): Promise<unknown> =>
    Promise.all(all.map(({ admin }) => register(admin, number)));

  /** Writes all of these, one faulty entry, and one cluster that never answers. */
  async function write(all: readonly Tenant[]): Promise<void> {
    const [any] = tenants;
    if (any === undefined) throw new Error("there is no cluster");
    const { port } = silent.address() as AddressInfo;
    await writeClustersFile(
      file,
      entry({ ...any, name: "faulty" }, { server: "http://plain" }),
      entry({ ...any, name: "silent" }, { server: `https://127.0.0.1:${port}` }),
      ...all.map((each) => entry(each)),
    );
  }

  test("initializes the nodes of all reachable ones, follows the file, and resumes after a kill", async () => {
    await write(except("tenant-17"));
    await join1(tenants, 1);
    start("--workers=3");
    await allUp(except("tenant-17"), 1);
    expect(await page("/readyz/clusters/faulty")).toEqual([503, expect.stringContaining("NotConfigured: ")]);
    expect((await page("/readyz/clusters/silent"))[0]).toBe(503);
    expect((await page("/metrics"))[1]).toContain("\nserverless_ccm_workers 3\n");

    await write(except("tenant-0"));
    await waitUntilTrue(
      "tenant-0 to be gone",
      async () => (await page("/readyz/clusters/tenant-0"))[0] === 404,
    );
    await join1(tenants, 2);
    await allUp(except("tenant-0"), 2);

    await join1(tenants, 3);
    expect(await program?.end("SIGKILL")).toBeNull();
    start("--workers=3");
    await join1(tenants, 4);
    await allUp(except("tenant-0"), 4);
    expect(await program?.end("SIGTERM")).toBe(0);
    expect(naked(tenants)).toEqual([]);
    // It is not followed any more.
    expect(tenants.find(({ name }) => name === "tenant-0")?.history.schedulable).toBe(1);
    const writers = new Set(
      (await tenants.find(({ name }) => name === "tenant-1")?.plane.record())
        ?.filter(({ verb, resource, user }) => user !== "admin" && verb === "patch" && resource === "nodes")
        .map(({ user }) => user),
    );
    expect([...writers]).toEqual(["serverless-ccm-node"]);
  }, 240_000);
});

describe("run with a clusters file", () => {
  let blue: Tenant;
  beforeEach(async () => {
    blue = await embedded("blue");
  });
  afterEach(() => end(blue));

  test.each(["--workers=0", "--workers=1"])("initializes nodes and ends with 0 (%s)", async (workers) => {
    await writeClustersFile(file, entry(blue));
    start(workers);
    await register(blue.admin, 1);
    await allUp([blue], 1);
    await waitUntilTrue("blue to be ready", async () => (await page("/readyz"))[0] === 200);
    expect(await program?.end("SIGTERM")).toBe(0);
    expect(naked([blue])).toEqual([]);
  });

  test("writes nothing with --dry-run", async () => {
    await writeClustersFile(file, entry(blue));
    await register(blue.admin, 1);
    start("--dry-run");
    const object = await program?.line("Object");
    expect(object).toMatchObject({ name: "node-1", outcome: "skipped", because: { code: "DryRun" } });
    const writes = (await blue.plane.record()).filter(
      ({ user, verb }) => user !== "admin" && verb !== "list" && verb !== "watch",
    );
    expect(writes).toEqual([]);
  });

  test("says of a function that cannot sign in what to add, and does the rest", async () => {
    const { node: _, ...signIn } = entry(blue).signIn ?? {};
    await writeClustersFile(file, entry(blue, { signIn }));
    await register(blue.admin, 1);
    start();
    expect(await program?.line("Object")).toMatchObject({
      cluster: "blue",
      outcome: "retry",
      because: { code: "SignInFailed", message: expect.stringContaining("signIn.node or signIn.functions") },
    });
    await writeClustersFile(file, entry(blue));
    await allUp([blue], 1);
  });
});

test.each([
  { command: "run", further: ["--fleet-brake=memory"], said: "memory belongs to one thread" },
  { command: "run", further: ["--fleet-brake=s3:bucket"], said: '"s3:bucket" names no record' },
  {
    command: "relay",
    further: [
      "--fleet-brake=memory",
      "--fallback=in-process",
      "--function-prefix=ccm-",
      "--region=eu-central-1",
    ],
    said: "memory belongs to one thread",
  },
])(
  "$command rejects a brake that its threads would not share: $further",
  async ({ command, further, said }) => {
    await writeFile(file, "");
    const { code, stderr } = await runProgram([command, `--clusters-file=${file}`, ...further]);
    expect(code).toBe(2);
    expect(stderr).toContain(`--fleet-brake: ${said}`);
  },
);

test.each(["0", "1"])(
  "an explicit list of no clusters starts and is ready, with %s workers",
  async (workers) => {
    await writeFile(file, "clusters: []");
    start(`--workers=${workers}`);
    expect(await page("/readyz")).toEqual([200, "ok: there are no clusters yet\n"]);
    expect(program?.lines.filter(({ event }) => event === "NoClusterUsable")).toEqual([]);
    const tenant = await embedded(`first-${workers}`);
    try {
      await writeClustersFile(file, entry(tenant));
      await waitUntilTrue(
        "the first cluster",
        async () => (await page(`/readyz/clusters/${tenant.name}`))[0] === 200,
      );
      // From now on an empty list may be a mistake.
      await writeFile(file, "clusters: []");
      await program?.line("ClustersFileFaulty");
      expect((await page(`/readyz/clusters/${tenant.name}`))[0]).toBe(200);
    } finally {
      await program?.end("SIGTERM");
      program = undefined;
      await end(tenant);
    }
  },
);

test("an empty file is not a list of clusters, and run does not start", async () => {
  await writeFile(file, "");
  const { code, stderr } = await runProgram(["run", `--clusters-file=${file}`]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("empty; a list is expected")]);
});

test("run rejects each flag for one cluster together with a clusters file", async () => {
  await writeFile(file, "clusters: blue");
  const flags = ["--kubeconfig=k", "--function-kubeconfig=node=k", "--cloud-provider=aws", "--workers=x"];
  const { code, stderr } = await runProgram(["run", `--clusters-file=${file}`, ...flags]);
  expect(code).toBe(2);
  expect(stderr.split("\n").map((line) => line.trim().replace(/: .*/, ""))).toEqual([
    "serverless-ccm",
    "--workers",
    "--cloud-provider",
    "--kubeconfig",
    "--function-kubeconfig",
    expect.stringContaining("clusters.yaml:1:1"),
    "",
  ]);
});
