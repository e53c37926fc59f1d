import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type EmbeddedControlPlane, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { getConnectOptions } from "#test/access.ts";
import { getInstance, initializeAsStock, type Quirks, register, STOCK } from "#test/cli/fake-stock.ts";
import { type Ended, runProgram } from "#test/cli/program.ts";

let folder: string;
let plane: EmbeddedControlPlane;
let admin: Transport;
let clustersFile: string;
let instancesFile: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "beside-"));
  plane = await startEmbeddedControlPlane({ folder: join(folder, "plane") });
  admin = connect(await getConnectOptions(plane, "admin"));
  instancesFile = join(folder, "instances.json");
  await writeFile(instancesFile, JSON.stringify({ instances: [1, 2, 3].map(getInstance) }));
  clustersFile = join(folder, "clusters.yaml");
  await writeFile(clustersFile, clustersText(true));
});
afterEach(async () => {
  await admin.close();
  await plane.close();
  await rm(folder, { recursive: true });
});

/** Registers a node and initializes it as the stock controller, or as another writer. */
async function joined(number: number, quirks: Quirks = {}): Promise<void> {
  await initializeAsStock(admin, await register(admin, number), getInstance(number), quirks);
}

describe("handover --check", () => {
  test("finds no difference in existing nodes, and writes nothing", async () => {
    await joined(1);
    await joined(2);
    const ended = await command("handover", "--check", "--once");
    expect(ended.stdout).toContain(`other: ${STOCK}, at work`);
    expect(ended.stdout).toContain("compared 2 nodes: no difference");
    expect(ended.code).toBe(0);
    const writes = (await plane.record()).filter(
      ({ user, verb }) => user !== "admin" && !["get", "list", "watch"].includes(verb),
    );
    expect(writes).toEqual([]);
  });

  test("prints each difference with both values, and ends with 1", async () => {
    await joined(1, { zone: "zone-b" });
    const ended = await command("handover", "--check", "--once");
    const lines = ["failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"].map(
      (label) => `LabelDiffers  node-1 ${label}\n    ours:   "zone-a"\n    theirs: "zone-b"`,
    );
    expect(ended.stdout).toContain(lines.join("\n"));
    expect(ended.stderr).toContain("compared 1 node: 2 differences (LabelDiffers 2) on 1 node");
    expect(ended.code).toBe(1);
  });

  test("does not count known differences", async () => {
    await joined(1, { zone: "zone-b" });
    const one = await command(
      "handover",
      "--check",
      "--once",
      "--ignore",
      "LabelDiffers:topology.kubernetes.io/zone",
    );
    expect(one.stderr).toContain("1 difference (LabelDiffers 1) on 1 node; 1 that --ignore names");
    expect(one.code).toBe(1);
    expect((await command("handover", "--check", "--once", "--ignore", "LabelDiffers")).code).toBe(0);
  });

  test("compares a joining node with its state before, once both writes are complete", async () => {
    await joined(1);
    const ending = command("handover", "--check", "--for", "12s");
    await watched();
    const name = await register(admin, 2);
    await sleep(300);
    await initializeAsStock(admin, name, getInstance(2));
    const ended = await ending;
    expect(ended.stdout).toContain("compared 2 nodes: no difference");
    expect(ended.code).toBe(0);
  });

  test("names a node that was initialized although we would not have done it", async () => {
    await writeFile(instancesFile, JSON.stringify({ instances: [] }));
    await joined(1);
    const ended = await command("handover", "--check", "--once");
    expect(ended.stdout).toContain('InitializedByThemAlone  node-1\n    ours:   "InstanceNotFound');
    expect(ended.code).toBe(1);
  });

  test.each([
    [
      "no other controller is active",
      async () => void (await register(admin, 1)),
      "no other cloud-controller-manager is active here",
    ],
    [
      "there is nothing to compare",
      async () => {
        await joined(1, { manager: "serverless-ccm" });
        // All that another controller has done here is to tag its instance.
        const body = { metadata: { labels: { "k8s.io/cloud-provider-aws": "c0ffee" } } };
        const path = `/api/v1/nodes/node-1?fieldManager=${STOCK}`;
        const contentType = "application/merge-patch+json";
        await admin.send({ method: "PATCH", path, body, contentType });
      },
      "nothing was compared",
    ],
  ])("reports clearly that %s, and ends with 2", async (_, prepare, words) => {
    await prepare();
    const ended = await command("handover", "--check", "--once");
    expect(ended.stderr).toContain(words);
    expect(ended.code).toBe(2);
  });

  test.each([
    [["--ignore", "Nonsense"], '"Nonsense" is not a code of a difference'],
    [["--for", "soon"], '"soon" is not a duration'],
    [["--for", "10m", "--once"], "cannot be combined with --once"],
    [["--dry-run"], "--dry-run: cannot be combined with --check"],
    [["--anyway"], "--anyway: cannot be combined with --check"],
  ])("rejects %s", async (flags, words) => {
    const ended = await command("handover", "--check", ...flags);
    expect(ended.stderr).toContain(words);
    expect(ended.code).toBe(2);
  });
});

test("shadow is an earlier name of it, and says so", async () => {
  await joined(1, { zone: "zone-b" });
  const ended = await command("shadow", "--once", "--ignore", "LabelDiffers");
  expect(ended.stderr).toContain(
    "shadow is deprecated and absent from the next version: use handover --check",
  );
  expect(ended.stdout).toContain("compared 1 node: no difference");
  expect(ended.code).toBe(0);
});

describe("handover", () => {
  test("rejects flags that only --check has", async () => {
    const ended = await command("handover", "--once", "--ignore", "LabelDiffers");
    expect(ended.stderr).toContain("--once: needs --check");
    expect(ended.stderr).toContain("--ignore: needs --check");
    expect(ended.code).toBe(2);
  });

  test("with --dry-run prints what would happen, and changes nothing", async () => {
    await joined(1);
    const ended = await command("handover", "--dry-run");
    expect(ended.stdout).toContain("hand-over of cluster tenant-a");
    expect(ended.stdout).toContain("true → false");
    expect(ended.stdout).toMatch(/--controllers=\*,-cloud-node-controller/);
    expect(ended.code).toBe(0);
    expect(await readFile(clustersFile, "utf8")).toBe(clustersText(true));
  });

  test("changes one word of the file, and finds that we initialize joining nodes", async () => {
    await joined(1);
    const ending = command("handover", "--for", "5s");
    await changed();
    await joinedSoon(2, "serverless-ccm");
    const ended = await ending;
    expect(await readFile(clustersFile, "utf8")).toBe(clustersText(false));
    expect(ended.stdout).toContain("no gap; 1 node came up, by who should");
    expect(ended.code).toBe(0);
    const again = await command("handover", "--for", "1s");
    expect(again.stdout).toContain("is false already");
    expect(again.code).toBe(0);
  });

  test("reports that the other controller is still active, and which flag stops it", async () => {
    await joined(1);
    const ending = command("handover", "--for", "4s");
    await changed();
    await sleep(2_500);
    await joinedSoon(2, STOCK);
    const ended = await ending;
    expect(ended.stderr).toContain(
      "the other controller still initializes nodes: restart it with --controllers=*,-",
    );
    expect(ended.code).toBe(1);
  });

  test("names a node that has lost its taint and gets no address", async () => {
    await joined(1);
    const ending = command("handover", "--for", "13s");
    await changed();
    const name = await register(admin, 2);
    await initializeAsStock(admin, name, getInstance(2), { withoutAddresses: true });
    const ended = await ending;
    expect(ended.stdout).toMatch(/WithoutAddress {2}node-2 was initialized and had no address for 1\d s/);
    expect(ended.code).toBe(1);
  });
});

describe("with --all", () => {
  const everyCluster = (name: string, ...flags: readonly string[]): Promise<Ended> =>
    runProgram([name, "--all", "--clusters-file", clustersFile, ...flags]);
  const twoClusters = (): Promise<void> =>
    writeFile(clustersFile, clustersText(true) + entryText("tenant-b", true));

  test("handover changes every cluster, and summarizes the results", async () => {
    await twoClusters();
    await joined(1);
    const planned = await everyCluster("handover", "--dry-run");
    expect(planned.stdout).toContain("tenant-b: hand-over of cluster tenant-b");
    expect([planned.stdout.split("\n").slice(-2)[0], planned.code]).toEqual(["2 clusters: 2 ok", 0]);
    expect(await readFile(clustersFile, "utf8")).toBe(clustersText(true) + entryText("tenant-b", true));
    const ended = await everyCluster("handover", "--for", "2s");
    expect([ended.stderr, ended.code]).toEqual(["", 0]);
    expect(await readFile(clustersFile, "utf8")).toBe(clustersText(false) + entryText("tenant-b", false));
    expect(ended.stdout).toMatch(/^tenant-b {2}ok {9}no gap; no node joined meanwhile/m);
  });

  test("handover names the cluster that failed, and a faulty entry", async () => {
    const dead = entryText("tenant-b", true).replace(plane.server, "https://127.0.0.1:1");
    const faulty = "  - name: tenant-c\n    server: http://x\n";
    await writeFile(clustersFile, clustersText(true) + dead + faulty);
    const ended = await everyCluster("handover", "--for", "1s");
    expect(ended.code).toBe(1);
    expect(ended.stdout).toMatch(/^tenant-a +ok +no gap/m);
    expect(ended.stdout).toMatch(/^tenant-b +failed +.*127\.0\.0\.1:1/m);
    expect(ended.stdout).toMatch(/cluster tenant-c: .* +failed +/);
    expect(ended.stderr).toMatch(/(\d) clusters: 1 ok, \d failed$/m);
    const text = await readFile(clustersFile, "utf8");
    expect(text).toBe(clustersText(false) + dead + faulty);
  });

  test("--check compares in every cluster, and ends with 1 if one differs", async () => {
    await twoClusters();
    await joined(1, { zone: "zone-b" });
    const ended = await everyCluster("handover", "--check", "--once");
    expect(ended.code).toBe(1);
    expect(ended.stdout).toContain("tenant-b: LabelDiffers  node-1 topology.kubernetes.io/zone");
    expect(ended.stdout).toMatch(/^tenant-a {2}failed {5}compared 1 node: 2 differences/m);
    expect(ended.stderr).toContain("2 clusters: 2 failed");
  });

  test.each([
    ["handover", ["--check"], "--all: needs --once, or --for"],
    ["handover", ["--check", "--once", "tenant-a"], "--all: cannot be combined with tenant-a"],
    ["handback", ["tenant-a"], "--all: cannot be combined with tenant-a"],
    ["brake", ["tenant-a"], "--all: cannot be combined with tenant-a"],
  ])("%s %j is rejected", async (name, flags, words) => {
    const ended = await everyCluster(name, ...flags);
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining(words)]);
  });
});

describe("handback", () => {
  test("without another controller is rejected, and changes nothing", async () => {
    await writeFile(clustersFile, clustersText(false));
    const ended = await command("handback");
    expect(ended.stderr).toContain("there is no controller to hand back to");
    expect(ended.code).toBe(1);
    expect(await readFile(clustersFile, "utf8")).toBe(clustersText(false));
  });

  test("to an existing controller puts our side in a dry run", async () => {
    await writeFile(clustersFile, clustersText(false));
    await joined(1);
    const ending = command("handback", "--for", "4s");
    await changed();
    await joinedSoon(2, STOCK);
    const ended = await ending;
    expect(await readFile(clustersFile, "utf8")).toBe(clustersText(true));
    expect(ended.stdout).toContain("no gap; 1 node came up, by who should");
    expect(ended.code).toBe(0);
  });
});

function command(name: string, ...flags: readonly string[]): Promise<Ended> {
  return runProgram([name, "tenant-a", "--clusters-file", clustersFile, ...flags]);
}

/** Resolves once the file has changed. */
async function changed(): Promise<void> {
  const before = await readFile(clustersFile, "utf8");
  await untilTrue(async () => (await readFile(clustersFile, "utf8")) !== before);
}

/** Resolves once the command has listed the nodes that it watches: the first list is for traces. */
async function watched(): Promise<void> {
  await untilTrue(async () => {
    const lists = (await plane.record()).filter(
      ({ user, verb, resource }) => user !== "admin" && verb === "list" && resource === "nodes",
    );
    return lists.length >= 2;
  });
}

async function untilTrue(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 120_000;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error("waited 2 min");
    await sleep(50);
  }
}

async function joinedSoon(number: number, manager: string): Promise<void> {
  const name = await register(admin, number);
  // The waiting node must be observed.
  await sleep(300);
  await initializeAsStock(admin, name, getInstance(number), { manager });
}

function clustersText(dryRun: boolean): string {
  return `clusters:\n${entryText("tenant-a", dryRun)}`;
}

function entryText(name: string, dryRun: boolean): string {
  return `  - name: ${name} # of the east
    server: ${plane.server}
    certificateAuthorityFile: ${plane.certificateAuthorityFile}
    signIn: { relay: { kind: token-file, file: ${plane.tokenFile("relay")} } }
    cloud: { provider: memory, instancesFile: ${instancesFile} }
    policies:
      dryRun: ${dryRun} # see the runbook
`;
}
