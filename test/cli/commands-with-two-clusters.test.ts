import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { readBrakeWords } from "#cli/deletion/brake.ts";
import { buildClusterEntry, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import { type ClusterInReach, startClusterInReach } from "#test/cli/cluster-in-reach.ts";
import { type Ended, runProgram } from "#test/cli/program.ts";

const STATE = "/api/v1/namespaces/kube-system/configmaps/serverless-ccm";
const SINCE = new Date(Date.now() - 600_000).toISOString();
const PULLED = {
  version: 1,
  written: SINCE,
  absences: {},
  deletions: {},
  brake: { since: SINCE, limit: "TenMinutes", nodes: 6, deleted: 1, waiting: 2 },
};

let blue: ClusterInReach;
let green: ClusterInReach;
let file: string;
const entryOf = (name: string, { plane, folder }: ClusterInReach) =>
  buildClusterEntry(plane, {
    name,
    cloud: { provider: "memory", instancesFile: join(folder, "instances.json") },
  });

beforeAll(async () => {
  [blue, green] = await Promise.all([startClusterInReach(), startClusterInReach()]);
  file = join(blue.folder, "clusters.yaml");
  for (const [cluster, ...names] of [
    [blue, "both", "of-blue"],
    [green, "both", "of-green"],
  ] as const) {
    await writeFile(join(cluster.folder, "instances.json"), JSON.stringify({ instances: [] }));
    for (const name of names) {
      const node = buildJoiningNode({ name, providerID: `memory:///zone-a/i-${name}` });
      await cluster.put(`/api/v1/nodes/${name}`, node);
    }
  }
});
afterAll(() => Promise.all([blue?.close(), green?.close()]));
beforeEach(async () => {
  await writeClustersFile(file, entryOf("blue", blue), entryOf("green", green));
  await store(blue, undefined);
  await store(green, PULLED);
});

const run = (...flags: readonly string[]): Promise<Ended> =>
  runProgram([...flags, "--clusters-file", file], "", { NO_COLOR: "1" });

function store(cluster: ClusterInReach, state: object | undefined): Promise<void> {
  const metadata = { name: "serverless-ccm", namespace: "kube-system" };
  const data = state === undefined ? {} : { data: { state: JSON.stringify(state) } };
  return cluster.put(STATE, { apiVersion: "v1", kind: "ConfigMap", metadata, ...data });
}

describe("explain without a cluster's name", () => {
  test("finds the cluster that has the node, and names it", async () => {
    const ended = await run("explain", "of-green");
    expect([ended.stderr, ended.code]).toEqual(["", 0]);
    expect(ended.stdout).toMatch(/^cluster\n {2}green, the only one of 2 that has node "of-green"\nnode\n/);
    const asJson = await run("explain", "of-green", "--json");
    expect(JSON.parse(asJson.stdout)).toMatchObject({ cluster: "green" });
  });

  test("asks for a name if several have the node, and reports if none has it", async () => {
    const both = await run("explain", "both");
    expect([both.code, both.stderr]).toEqual([
      2,
      expect.stringContaining('node "both" is in blue, green; name the cluster that is meant'),
    ]);
    const none = await run("explain", "service", "default/web");
    expect([none.code, none.stderr]).toEqual([
      1,
      'serverless-ccm: 2 clusters have no Service "default/web"\n',
    ]);
  });

  test("names the clusters that it could not search, whether it found the node or not", async () => {
    const dead = { ...entryOf("dead", blue), server: "https://127.0.0.1:1" };
    await writeClustersFile(file, entryOf("blue", blue), dead, { name: "bad", server: "http://x" });
    const found = await run("explain", "of-blue");
    expect(found.code).toBe(0);
    expect(found.stdout).toMatch(/^ {2}blue, the only one of 2 .*; not searched: dead \(.*\), .*bad/m);
    const none = await run("explain", "of-green");
    expect([none.code, none.stderr]).toEqual([
      1,
      expect.stringMatching(/1 cluster has no node "of-green"; not searched: dead \(/),
    ]);
  });
});

describe("brake", () => {
  test("with --all describes each cluster in a line, and ends with 0", async () => {
    const ended = await run("brake", "--all");
    expect([ended.stderr, ended.code]).toEqual(["", 0]);
    expect(ended.stdout.split("\n")).toEqual([
      "blue   ok         not pulled; deletions that count: 0 in 10 minutes, 0 in 24 hours, 0 not found",
      expect.stringMatching(/^green {2}ok {9}pulled .* ago\): more than 20 % in 10 minutes, of 6 nodes;/),
      "2 clusters: 2 ok",
      "",
    ]);
  });

  test("with --all --reset releases the brakes that hold, and fails if one cannot be read", async () => {
    await writeClustersFile(file, entryOf("blue", blue), entryOf("green", green), {
      ...entryOf("dead", blue),
      server: "https://127.0.0.1:1",
    });
    const ended = await run("brake", "--all", "--reset", "--json");
    expect(ended.code).toBe(1);
    const lines = ended.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map(({ cluster, reset, error }) => [cluster, reset, typeof error])).toEqual(
      expect.arrayContaining([
        ["blue", false, "undefined"],
        ["green", true, "undefined"],
        ["dead", undefined, "string"],
      ]),
    );
    expect((await run("brake", "show", "green")).stdout).toMatch(/^brake +not pulled$/m);
  });

  test.each([
    [["show", "green"], 0, /^brake +pulled/m],
    [["green"], 0, /^brake +pulled/m],
    [["reset", "green"], 0, /^the brake of cluster green, pulled .* is released/m],
    [["show"], 2, /CLUSTER: is missing: name one of the file's clusters, blue, green/],
    [["green", "blue"], 2, /CLUSTER: is "blue": one cluster is expected/],
    [["show", "green", "--reset"], 2, /--reset: contradicts show/],
  ])("%j ends with %i", async (flags, code, says) => {
    const { stdout, stderr, ...ended } = await run("brake", ...flags);
    expect([ended.code, stdout + stderr]).toEqual([code, expect.stringMatching(says)]);
  });

  test("takes a cluster that is named like a word after that word", () => {
    expect(readBrakeWords(["show", "show"], false)).toEqual({ cluster: "show", reset: false });
    expect(readBrakeWords(["reset", undefined], false)).toEqual({ cluster: undefined, reset: true });
  });
});
