import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Cluster, type ClusterEntry } from "#config/cluster.ts";
import { DESCRIPTORS } from "#core/descriptors.ts";
import { writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { type Ended, runProgram } from "#test/cli/program.ts";

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "clusters-"));
  file = join(folder, "clusters.yaml");
  await writeFile(join(folder, "token"), "t0ken\n");
});
afterEach(() => rm(folder, { recursive: true }));

const entry = (name: string, difference: object = {}): ClusterEntry => ({
  name,
  server: "https://127.0.0.1:6443",
  signIn: { relay: { kind: "token-file", file: join(folder, "token") } },
  cloud: { provider: "memory", instancesFile: "none.json" },
  ...difference,
});

async function clusters(...flags: string[]): Promise<Ended> {
  const { code, stdout, stderr } = await runProgram(["clusters", ...flags], "", { CLUSTERS_FILE: file });
  const plain = (text: string): string => text.replaceAll(`${folder}/`, "");
  return { code, stdout: plain(stdout), stderr: plain(stderr) };
}

describe("clusters check", () => {
  test("ends with 0 for a file without faults, and warns of likely mistakes", async () => {
    const cloud = { provider: "aws", region: "eu-central-9", vpc: "vpc-0a" };
    await writeClustersFile(file, entry("blue"), entry("green", { cloud, controllers: ["cloud-nod"] }));
    const known = DESCRIPTORS.map(({ name }) => name);
    expect(await clusters("check")).toEqual({
      code: 0,
      stdout: [
        `clusters.yaml: cluster green: warning: controllers: this version knows no cloud-nod; it knows ${known.join(", ")}`,
        'clusters.yaml: cluster green: warning: cloud.region: "eu-central-9" is not a region that this version knows; did you mean eu-central-1?',
        "2 clusters, 0 faulty, 0 that cannot be signed in to\n",
      ].join("\n"),
      stderr: "",
    });
  });

  test("names a held entry and the one that holds it, and warns of a network that two share", async () => {
    const aws = { provider: "aws", region: "eu-central-1", roleArn: "arn:aws:iam::111111111111:role/ccm" };
    const network = { provider: "hcloud", network: 1 };
    await writeClustersFile(
      file,
      entry("blue", { cloud: { ...aws, clusterTag: "prod" } }),
      entry("green", { cloud: { ...aws, clusterTag: "prod" } }),
      entry("grey", { cloud: network }),
      entry("red", { cloud: { ...network, labelSelector: "cluster=red" } }),
    );
    const { code, stdout, stderr } = await clusters("check");
    expect([code, stderr]).toEqual([
      1,
      "serverless-ccm: 4 clusters, 1 faulty, 0 that cannot be signed in to\n",
    ]);
    expect(stdout.trim().split("\n")).toEqual([
      expect.stringMatching(
        /^clusters.yaml: cluster green: cloud: tag kubernetes.io\/cluster\/prod in the account 111111111111, region eu-central-1 belongs to cluster blue, .* held/,
      ),
      expect.stringMatching(
        /^clusters.yaml: cluster grey: warning: cloud: machines in the network 1 .* cluster red is in that network/,
      ),
    ]);
    expect((await clusters("list")).stdout).toMatch(/\ngreen {2}faulty: .* belongs to cluster blue/);
  });

  test("names every fault of entries and sign-ins, and ends with 1", async () => {
    const absent = { signIn: { relay: { kind: "token-file", file: join(folder, "absent") } } };
    const tenants = { signIn: { relay: { kind: "kubeconfig", file: join(folder, "kubeconfig") } } };
    const marker = join(folder, "marker");
    await writeFile(
      join(folder, "kubeconfig"),
      JSON.stringify({
        clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:6443" } }],
        users: [{ name: "u", user: { exec: { command: "touch", args: [marker] } } }],
        contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
        "current-context": "x",
      }),
    );
    await writeClustersFile(
      file,
      entry("blue", { server: "x" }),
      entry("red", absent),
      entry("grey", tenants),
    );
    const { code, stdout, stderr } = await clusters("check");
    expect([code, stderr]).toEqual([
      1,
      "serverless-ccm: 3 clusters, 1 faulty, 2 that cannot be signed in to\n",
    ]);
    expect(stdout.trim().split("\n")).toEqual([
      expect.stringMatching(/^clusters.yaml:5:7: cluster blue: server: "x" cannot be used; give the https/),
      expect.stringMatching(/^cluster red, sign-in of the relay: absent cannot be read \(ENOENT\)/),
      expect.stringMatching(/^cluster grey: kubeconfig kubeconfig: exec is refused/),
    ]);
    await expect(runProgram(["clusters", "check", "--clusters-file", marker])).resolves.toMatchObject({
      stderr: expect.stringContaining("ENOENT"),
    });
  });

  test.each([
    ["relay", 0],
    ["functions", 1],
    ["node-lifecycle", 1],
    ["none", 0],
    ["all", 2],
  ])("with --sign-in %s ends with %i if functions have none", async (context, code) => {
    await writeClustersFile(file, entry("blue"));
    expect((await clusters("check", "--sign-in", context)).code).toBe(code);
  });

  test.each([
    ["functions", ["function csr", "function sweep"]],
    ["csr", ["function csr"]],
    ["node", ["function node"]],
    ["sweep", ["function sweep"]],
  ])("with --sign-in %s names the functions that cannot sign in", async (context, failing) => {
    const [csr, sweep] = ["absent", "gone"].map((name) => ({ kind: "token-file", file: join(folder, name) }));
    await writeClustersFile(file, entry("blue", { signIn: { csr, sweep } }));
    const { code, stdout } = await clusters("check", "--sign-in", context);
    expect(code).toBe(1);
    expect([...stdout.matchAll(/sign-in of the ([a-z ]+): /g)].map(([, who]) => who)).toEqual(failing);
  });

  test.each([
    ["rubbish", "clusters: {", "clusters.yaml:1:"],
    ["no list", "clusters: 7", "clusters.yaml:1:1: clusters: give a list"],
  ])("of %s ends with 2", async (_, text, words) => {
    await writeFile(file, text);
    const { code, stderr } = await clusters("check");
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(words) });
  });

  test("without a file ends with 2 and says how to name it", async () => {
    const { code, stderr } = await runProgram(["clusters", "check"], "", { CLUSTERS_FILE: "" });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining("--clusters-file: is missing: give it, or set CLUSTERS_FILE"),
    });
  });
});

describe("clusters hash", () => {
  test("prints the hash in the cluster's events, even if other entries are faulty", async () => {
    await writeClustersFile(file, entry("red", { server: "x" }), entry("blue"));
    const { hash } = Cluster.parse(entry("blue"));
    expect(await clusters("hash", "blue")).toEqual({ code: 0, stdout: `${hash}\n`, stderr: "" });
  });

  test.each([
    ["red", "clusters.yaml:5:7: cluster red: server: "],
    ["grey", "clusters.yaml: grey: has no cluster of this name; `serverless-ccm clusters list`"],
  ])("of %s ends with 2", async (name, words) => {
    await writeClustersFile(file, entry("red", { server: "x" }), entry("blue"));
    const { code, stderr } = await clusters("hash", name);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(words) });
  });
});

test("clusters list prints a line for each", async () => {
  const cloud = { provider: "aws", region: "eu-central-1", vpc: "vpc-0a" };
  await writeClustersFile(file, entry("red", { server: "x" }), entry("blue", { cloud }));
  const { hash } = Cluster.parse(entry("blue", { cloud }));
  expect(
    (await clusters("list")).stdout
      .trim()
      .split("\n")
      .map((line) => line.split(/ {2,}/)),
  ).toEqual([
    ["NAME", "HASH", "SERVER", "CLOUD", "CONTROLLERS", "HOME"],
    [
      "blue",
      hash,
      "https://127.0.0.1:6443",
      "aws eu-central-1",
      "cloud-node-controller,cloud-node-lifecycle-controller",
      "clusters.yaml",
    ],
    ["red", expect.stringMatching(/^faulty: clusters.yaml:\d+:\d+: cluster red: server: /)],
  ]);
});
