import { mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connectRelay } from "#cli/clusters/connect-identity.ts";
import { followClusters } from "#cli/relay/follow-clusters.ts";
import { keepCluster } from "#cli/relay/keep-cluster.ts";
import type { ClustersFollower } from "#cli/relay/serve.ts";
import { Cluster, type ClusterEntry } from "#config/cluster.ts";
import { createFileRegistry } from "#config/registry/open-registry.ts";
import type { Event } from "#core/event.ts";
import { type EmbeddedControlPlane, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { buildClusterEntry, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { type Relay, startRelay } from "#relay/relay.ts";
import { createRelayMetrics } from "#relay/report/metrics.ts";
import { registerNode } from "#test/cli/register-node.ts";
import { buildReport } from "#test/relay/report-builders.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

type Line = Readonly<Record<string, unknown>>;

let folder: string;
let file: string;
let plane: EmbeddedControlPlane;
let relay: Relay;
let follower: ClustersFollower;
let lines: Line[];
let events: Event[];
/** Invocations that were not answered, by cluster; undefined if all are answered at once. */
let held: Map<string, () => void> | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "follow-clusters-"));
  file = join(folder, "clusters.yaml");
  plane = await startEmbeddedControlPlane({ folder: join(folder, "plane") });
  await registerNode(plane, "node-1");
  lines = [];
  events = [];
  held = undefined;
});
afterEach(async () => {
  follower.stop();
  await relay.close();
  await follower.stopped;
  await plane.close();
  await rm(folder, { recursive: true });
});

const entry = (name: string, difference: Partial<ClusterEntry> = {}): ClusterEntry =>
  buildClusterEntry(plane, {
    name,
    cloud: { provider: "memory", instancesFile: "none.json" },
    ...difference,
  });

const tokenAt = (path: string): Partial<ClusterEntry> => ({
  signIn: { relay: { kind: "token-file", file: path } },
});

/** Starts a relay on the current file; the functions soon ask for a retry of every object. */
async function start(...entries: readonly unknown[]): Promise<void> {
  await writeClustersFile(file, ...entries);
  relay = startRelay({
    clusters: [],
    invoker: {
      async invoke(event) {
        events.push(event);
        if (held !== undefined) await new Promise<void>((resolve) => void held?.set(event.cluster, resolve));
        return {
          kind: "report",
          report: buildReport(event, () => ({ outcome: "retry", afterSeconds: 0.1 })),
        };
      },
      close: async () => {},
    },
    identity: "test",
    nodeStatusUpdateFrequencySeconds: 100_000,
  });
  const log = (line: Line): void => void lines.push(line);
  const home = createFileRegistry(file);
  follower = followClusters({
    registry: home,
    content: await home.read(),
    followed: [],
    keep: (name, signal, already) =>
      keepCluster(
        name,
        {
          relay,
          connect: (each) => connectRelay(each, { trustsEntries: true, networks: [] }),
          log,
          signal,
          retryMs: 10,
        },
        already,
      ),
    log,
    intervalMs: 10,
  });
}

const said = (event: string, cluster?: string): Line[] =>
  lines.filter((line) => line["event"] === event && (cluster === undefined || line["cluster"] === cluster));
const untilSaid = (event: string, cluster?: string, times = 1): Promise<void> =>
  waitUntilTrue(`${event} of ${cluster}`, () => said(event, cluster).length >= times);
const ready = (...names: readonly string[]): Promise<void> =>
  waitUntilTrue(`${names} to be ready`, () => names.every((name) => relay.ready(name)));
const statusOf = (name: string) => relay.status().find((each) => each.name === name);
const eventsOf = (name: string): Event[] => events.filter(({ cluster }) => cluster === name);
/** Waits until the next state of the file was read, which shows that the cluster did not change. */
const goesOn = async (name: string): Promise<void> => {
  const before = eventsOf(name).length;
  await waitUntilTrue(`${name} to go on`, () => eventsOf(name).length > before);
};

describe("a cluster of the file", () => {
  test("is held because an older one has its cloud: nothing is sent for it, the others are followed", async () => {
    const cloud = { provider: "aws", region: "eu-central-1", clusterTag: "prod" } as const;
    await start(entry("blue", { cloud }), entry("green", { cloud }), entry("red"));
    await ready("blue", "red");
    await untilSaid("ClusterEntryFaulty", "green");
    await goesOn("blue");
    await goesOn("red");
    expect(said("ClusterEntryFaulty")).toMatchObject([{ cluster: "green", code: "SameOwnership" }]);
    expect(statusOf("green")?.configurationFault).toEqual({
      code: "SameOwnership",
      message: expect.stringContaining("cluster green: cloud: tag kubernetes.io/cluster/prod"),
    });
    const metrics = createRelayMetrics();
    metrics.follow(() => relay.status());
    const text = await metrics.text();
    expect(text).toContain('serverless_ccm_cluster_held{cluster="green",reason="SameOwnership"} 1');
    expect(text).toContain('serverless_ccm_cluster_misconfigured{cluster="green"} 1');
    expect(text).not.toContain('cluster_held{cluster="blue"');
    expect([eventsOf("green"), relay.ready("green")]).toEqual([[], false]);
    await writeClustersFile(file, entry("green", { cloud }), entry("red"));
    await ready("green");
    await goesOn("green");
    expect(statusOf("green")?.configurationFault).toBeUndefined();
  });

  test("is followed when its entry is added, and not any more after its removal", async () => {
    await start(entry("blue"));
    await ready("blue");
    await writeClustersFile(file, entry("blue"), entry("green"));
    await ready("blue", "green");
    await goesOn("green");
    await writeClustersFile(file, entry("green"));
    await untilSaid("ClusterRemoved", "blue");
    const before = eventsOf("blue").length;
    await goesOn("green");
    expect([relay.status().map(({ name }) => name), eventsOf("blue").length]).toEqual([["green"], before]);
    expect(said("ClusterChanged")).toEqual([]);
  });

  test("finishes what is in flight before it is gone", async () => {
    held = new Map();
    await start(entry("blue"), entry("green"));
    await waitUntilTrue("an event in flight", () => held?.has("blue") === true);
    await writeClustersFile(file, entry("green"));
    await waitUntilTrue("blue to drain", () => statusOf("blue")?.ready === false);
    expect([statusOf("blue")?.invocations, said("ClusterRemoved")]).toEqual([1, []]);
    held.get("blue")?.();
    await untilSaid("ClusterRemoved", "blue");
    expect(eventsOf("blue").length).toBe(1);
    for (const release of held.values()) release();
  });

  test("is followed by its new entry after a change, and never twice at a time", async () => {
    held = new Map();
    await start(entry("blue"));
    await waitUntilTrue("an event in flight", () => held?.has("blue") === true);
    const changed = entry("blue", { policies: { dryRun: true } });
    await writeClustersFile(file, changed);
    await waitUntilTrue("blue to drain", () => statusOf("blue")?.ready === false);
    expect([eventsOf("blue").length, said("ClusterChanged")]).toEqual([1, []]);
    const release = held.get("blue");
    held = undefined;
    release?.();
    await untilSaid("ClusterChanged", "blue");
    await goesOn("blue");
    const last = eventsOf("blue").at(-1);
    expect([last?.clusterHash, last?.dryRun]).toEqual([Cluster.parse(changed).hash, true]);
    expect(eventsOf("blue")[0]?.clusterHash).toBe(Cluster.parse(entry("blue")).hash);
  });

  test("does not change if the file is only rewritten", async () => {
    await start(entry("blue"));
    await ready("blue");
    await writeFile(file, `# the same\n${await readFile(file, "utf8")}`);
    await writeClustersFile(file, entry("blue"), entry("green"));
    await ready("green");
    const blue = ["ClusterAdded", "ClusterChanged", "ClusterRemoved"].map(
      (event) => said(event, "blue").length,
    );
    expect([blue, said("ClustersRead").length]).toEqual([[1, 0, 0], 2]);
  });
});

describe("a faulty entry", () => {
  test("does not affect other clusters, and is reported", async () => {
    await start(entry("blue"), entry("red", { server: "http://x" }));
    await ready("blue");
    const lines = (await readFile(file, "utf8")).split("\n");
    const line = 1 + lines.findIndex((each) => each.includes("http://x"));
    const message = expect.stringContaining(`clusters.yaml:${line}:7: cluster red: server: `);
    expect(statusOf("red")).toMatchObject({ ready: false, failure: { code: "NotConfigured", message } });
    expect(said("ClusterEntryFaulty", "red")).toMatchObject([
      { faults: [{ path: "clusters[1].server", line }] },
    ]);
    await writeClustersFile(file, entry("blue"), entry("red"));
    await ready("blue", "red");
    expect(statusOf("red")?.configurationFault).toBeUndefined();
  });

  test("keeps a known cluster as it was, and is reported", async () => {
    await start(entry("blue"), entry("green"));
    await ready("blue", "green");
    await writeClustersFile(file, entry("blue", { limits: { invocations: 0 } }), entry("green"));
    await untilSaid("ClusterEntryFaulty", "blue");
    await goesOn("blue");
    expect(statusOf("blue")).toMatchObject({ ready: true, configurationFault: { code: "NotConfigured" } });
    expect(eventsOf("blue").at(-1)?.clusterHash).toBe(Cluster.parse(entry("blue")).hash);
    await writeClustersFile(file, entry("blue"), entry("green"));
    await waitUntilTrue("the fault to be over", () => statusOf("blue")?.configurationFault === undefined);
    expect(said("ClusterChanged")).toEqual([]);
  });

  test("with the name of another one keeps both as they were", async () => {
    await start(entry("blue"), entry("green"));
    await ready("blue", "green");
    await writeClustersFile(
      file,
      entry("blue"),
      entry("green"),
      entry("blue", { limits: { invocations: 9 } }),
    );
    await untilSaid("ClusterEntryFaulty", "blue");
    await goesOn("blue");
    expect(said("ClusterChanged").concat(said("ClusterRemoved"))).toEqual([]);
  });

  test("with an unreadable name removes no cluster, because it may belong to any missing one", async () => {
    await start(entry("blue"), entry("green"));
    await ready("blue", "green");
    await writeClustersFile(file, entry("Blue"), entry("green"));
    await waitUntilTrue("the entry to be faulty", () => said("ClusterEntryFaulty").length > 0);
    await goesOn("blue");
    await writeClustersFile(file, entry("green"));
    await untilSaid("ClusterRemoved", "blue");
  });
});

describe("a malformed clusters file", () => {
  test.each<[string, () => Promise<void>, string]>([
    ["is rubbish", () => writeFile(file, "clusters: {"), "Invalid"],
    ["has no clusters", () => writeFile(file, "clusters: []"), "Invalid"],
    ["is gone", () => rm(file), "Unreadable"],
  ])("that %s keeps the known clusters running", async (_, spoil, code) => {
    await start(entry("blue"));
    await ready("blue");
    expect(follower.isUnreadable()).toBe(false);
    await spoil();
    await untilSaid("ClustersFileFaulty");
    expect(follower.isUnreadable()).toBe(true);
    expect(said("ClustersFileFaulty")).toMatchObject([
      { code, message: expect.stringContaining("continue as before") },
    ]);
    await goesOn("blue");
    await writeClustersFile(file, entry("green"));
    await ready("green");
    expect(follower.isUnreadable()).toBe(false);
    await untilSaid("ClusterRemoved", "blue");
  });
});

describe("an unusable sign-in", () => {
  test("is retried until its file exists, without delaying other clusters", async () => {
    const late = join(folder, "late-token");
    await start(entry("blue"), entry("red", tokenAt(late)));
    await ready("blue");
    await untilSaid("SignInUnusable", "red");
    expect(statusOf("red")).toMatchObject({ ready: false, failure: { code: "FileUnreadable" } });
    await writeFile(`${late}.new`, await readFile(plane.tokenFile("relay"), "utf8"));
    // An atomic rename, as in rotations: half a token would be another fault.
    await rename(`${late}.new`, late);
    await ready("red");
    expect([statusOf("red")?.configurationFault, said("SignInUnusable", "red").length]).toEqual([
      undefined,
      1,
    ]);
  });

  test("of a changed entry leaves the cluster as it was until the sign-in works", async () => {
    const late = join(folder, "late-token");
    await start(entry("blue"));
    await ready("blue");
    await writeClustersFile(file, entry("blue", { ...tokenAt(late), limits: { invocations: 2 } }));
    await untilSaid("SignInUnusable", "blue");
    await goesOn("blue");
    expect(statusOf("blue")).toMatchObject({ ready: true, configurationFault: { code: "FileUnreadable" } });
    expect(eventsOf("blue").at(-1)?.clusterHash).toBe(Cluster.parse(entry("blue")).hash);
    await writeFile(late, await readFile(plane.tokenFile("relay"), "utf8"));
    await untilSaid("ClusterChanged", "blue");
    await ready("blue");
    expect(statusOf("blue")?.configurationFault).toBeUndefined();
  });

  test("is given up after the entry's removal", async () => {
    await start(entry("blue"), entry("red", tokenAt(join(folder, "never"))));
    await untilSaid("SignInUnusable", "red");
    await writeClustersFile(file, entry("blue"));
    await waitUntilTrue("red to be forgotten", () => statusOf("red") === undefined);
    expect(relay.status().map(({ name }) => name)).toEqual(["blue"]);
  });

  test("does not show the content of the file", async () => {
    const token = join(folder, "token");
    await writeFile(token, "s3cret and more\n");
    await start(entry("blue"), entry("red", tokenAt(token)));
    await untilSaid("SignInUnusable", "red");
    expect(JSON.stringify([lines, relay.status()])).not.toContain("s3cret");
  });
});
