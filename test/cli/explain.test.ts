import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { explain } from "#cli/explain/explain.ts";
import { findRemedy } from "#cli/explain/explanation.ts";
import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import { type ClusterInReach, startClusterInReach } from "#test/cli/cluster-in-reach.ts";
import { runProgram } from "#test/cli/program.ts";

let cluster: ClusterInReach;
let cloudConfig: string;

const instance = (id: string, more: object = {}) => ({
  id,
  account: "1",
  network: "network-1",
  state: "running",
  providerID: `memory:///zone-a/${id}`,
  type: "small",
  zone: "zone-a",
  region: "region-a",
  addresses: [{ type: "InternalIP", address: "10.0.0.1" }],
  labels: {},
  ...more,
});

const INSTANCES = [
  instance("i-joins"),
  instance("i-up"),
  instance("i-capi"),
  instance("i-notready"),
  instance("i-gone", { state: "terminated" }),
  instance("i-off", { state: "stopped" }),
  instance("i-foreign", { foreign: true }),
];

const CAPI = { key: "node.cluster.x-k8s.io/uninitialized", effect: "NoSchedule" };
const CILIUM = { key: "node.cilium.io/agent-not-ready", effect: "NoExecute" };
const STRANGE = { key: "example.com/a\u001b[2J\u202e", effect: "NoSchedule", value: "x" };

beforeAll(async () => {
  cluster = await startClusterInReach();
  cloudConfig = join(cluster.folder, "cloud.yaml");
  await writeFile(join(cluster.folder, "instances.json"), JSON.stringify({ instances: INSTANCES }));
  await writeFile(cloudConfig, `instancesFile: ${join(cluster.folder, "instances.json")}\n`);
  await cluster.put("/api/v1/namespaces/kube-system/configmaps/serverless-ccm", {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "serverless-ccm", namespace: "kube-system" },
  });
  await joined("joins", { taints: [CILIUM, STRANGE] });
  await joined("absent", {});
  await joined("foreign", {});
  await up("up", { ready: "True", taints: [] });
  await up("capi", { ready: "True", taints: [CAPI] });
  await up("notready", { ready: "False", taints: [] });
  await up("gone", { ready: "Unknown", taints: [] });
  await up("off", { ready: "Unknown", taints: [] });
});
afterAll(() => cluster.close());

describe("explain", () => {
  test("of a joining node names the owners of its taints, and the pending writes", async () => {
    const lines = await explained("joins");
    expect(lines.slice(0, 3)).toEqual([
      "node",
      expect.stringMatching(/^ {2}joins, \d+ s old$/),
      expect.any(String),
    ]);
    expect(lines).toEqual(
      expect.arrayContaining([
        "  node.cilium.io/agent-not-ready:NoExecute  Cilium: its agent does not run on the node yet",
        expect.stringContaining("example.com/a\\u{001B}[2J\\u{202E}:NoSchedule  unknown: no component known"),
        expect.stringContaining(
          "node.cloudprovider.kubernetes.io/uninitialized:NoSchedule  serverless-ccm: the kubelet",
        ),
        "  instance i-joins, running",
        expect.stringContaining(
          'would patch nodes/status joins: add /status/addresses [{"type":"InternalIP"',
        ),
        expect.stringContaining("because Initialized: "),
        expect.stringContaining("the relay sends it to the functions"),
      ]),
    );
  });

  test.each<[string, string, readonly string[]]>([
    [
      "whose instance is not found",
      "absent",
      ["because InstanceNotFound: ", "InstanceNotFound: if the instance runs, see vpc"],
    ],
    [
      "whose instance belongs to another cluster",
      "foreign",
      ["because Foreign: ", "Foreign: see vpc, clusterTag"],
    ],
    ["that is up", "up", ["no write on this node is serverless-ccm's to do"]],
    [
      "with Cluster API's taint alone",
      "capi",
      [
        "node.cluster.x-k8s.io/uninitialized:NoSchedule  Cluster API: it has not set",
        "no write on this node is serverless-ccm's to do",
        "node.cluster.x-k8s.io/uninitialized: see the Machine of the node",
      ],
    ],
    [
      "that is not Ready while its instance runs",
      "notready",
      [
        "Ready: False",
        "because NotReady: instance i-notready is running",
        "NotReady: see the Ready condition",
      ],
    ],
    [
      "whose instance has ended",
      "gone",
      ["instance i-gone, terminated", "would write to configmaps first: "],
    ],
    ["whose instance is stopped", "off", ["add /spec/taints", "because InstanceStopped: "]],
  ])("of a node %s", async (_, name, words) => {
    const lines = (await explained(name)).join("\n");
    for (const each of words) expect(lines).toContain(each);
  });

  test("writes nothing", async () => {
    const before = await cluster.get("/api/v1/nodes");
    for (const name of ["joins", "gone", "off", "up"]) await explained(name);
    expect(await cluster.get("/api/v1/nodes")).toEqual(before);
    const writes = (await cluster.plane.record()).filter(
      ({ user, verb }) => user !== "admin" && !["get", "list"].includes(verb),
    );
    expect(writes).toEqual([]);
  });

  test("prints the same facts as JSON that is safe for terminals", async () => {
    const [line = "", ...others] = await explained("joins", { json: true });
    expect(others).toEqual([]);
    expect(line).toMatch(/^[\x20-\x7E]+$/);
    expect(JSON.parse(line)).toMatchObject({
      cluster: "tenant-a",
      node: { metadata: { name: "joins" } },
      taints: expect.arrayContaining([
        {
          ...{ key: STRANGE.key, effect: STRANGE.effect, kind: "unknown", owner: "unknown" },
          ...{ means: expect.any(String), remedy: expect.any(String) },
        },
      ]),
      cloud: { kind: "found", instance: { id: "i-joins" } },
      decisions: [
        { controller: "cloud-node-controller", report: { decision: { kind: "change" } } },
        { controller: "cloud-node-lifecycle-controller" },
      ],
    });
  });

  test.each<[string, string, string]>([
    ["like another", "notraedy", 'cluster tenant-a has no node "notraedy"; did you mean notready?'],
    ["of another domain", "up.example.com", 'has no node "up.example.com"; did you mean up?'],
    ["like no other", "zzzzzzzzzzzzzz", "it has 8 others, none with a similar name"],
    ["that acts on terminals", "x\u001b[2J", 'has no node "x\\u{001B}[2J"'],
    ["that is a path", "../../secrets", 'has no node "../../secrets"'],
  ])("rejects a name %s", async (_, name, message) => {
    await expect(explained(name)).rejects.toThrow(message);
  });

  test("the program ends with 1 if the node is not found", async () => {
    const kubeconfig = await cluster.plane.kubeconfig("admin");
    const flags = ["--kubeconfig", kubeconfig, "--cloud-provider", "memory", "--cloud-config", cloudConfig];
    const { code, stdout, stderr } = await runProgram(["explain", "notraedy", ...flags]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain('cluster kubernetes has no node "notraedy"; did you mean notready?');
  });
});

describe("explain while something is stopped", () => {
  const stopSwitch = (name: string): string => join(cluster.folder, name);
  const write = async (name: string, record: unknown): Promise<{ readonly stopSwitch: string }> => {
    await writeFile(stopSwitch(name), JSON.stringify(record));
    return { stopSwitch: stopSwitch(name) };
  };
  const since = "2026-11-01T10:00:00.000Z";

  test("reports it first, with its author and how to resume, and that the node waits for it", async () => {
    const entry = { what: "writes", since, by: "ann@ops\u001b[2J" };
    const lines = await explained("joins", await write("writes.json", { version: 1, stopped: [entry] }));
    expect(lines.slice(0, 4)).toEqual([
      "stopped",
      `  writes of all clusters are stopped since ${since}, by ann@ops\\u{001B}[2J`,
      "  to resume: serverless-ccm stop --resume --writes --all",
      "node",
    ]);
    const advice = lines.slice(lines.indexOf("what to do") + 1);
    expect(advice[0]).toMatch(/^ {2}Stopped: an operator has stopped writes, which holds this back/);
    expect(advice.join("\n")).not.toContain("the relay sends it to the functions");
  });

  test.each<[string, string, object, boolean]>([
    ["deletes, of a node that joins", "joins", { what: "deletes", cluster: "tenant-a" }, false],
    ["deletes, of a node whose instance has ended", "gone", { what: "deletes", cluster: "tenant-a" }, true],
  ])("reports whether it holds this node back: %s", async (_, name, entry, isHeld) => {
    const lines = await explained(name, await write("deletes.json", { version: 1, stopped: [entry] }));
    expect(lines[0]).toBe("stopped");
    expect(lines.join("\n").includes("  Stopped: an operator has stopped deletes")).toBe(isHeld);
  });

  test("names the first stops of many, and their number", async () => {
    const stopped = Array.from({ length: 50 }, () => ({ what: "writes" }));
    const lines = await explained("up", await write("many.json", { version: 1, stopped }));
    expect(lines.indexOf("node")).toBeLessThan(30);
    expect(lines).toContain("  and 40 stops more: serverless-ccm stop");
  });

  test("does not mention stops of another cluster", async () => {
    const stopped = [{ what: "writes", cluster: "tenant-b" }];
    expect((await explained("up", await write("other.json", { version: 1, stopped })))[0]).toBe("node");
  });

  test("reports an unreadable switch, and continues", async () => {
    await writeFile(stopSwitch("broken.json"), "{");
    const lines = await explained("up", { stopSwitch: stopSwitch("broken.json") });
    expect(lines[1]).toContain("broken.json");
    expect(lines[2]).toContain("docs/how-to/stop-it.md#when-the-switch-cannot-be-read");
    expect(lines).toContain("  instance i-up, running");
  });

  test("includes it in the JSON", async () => {
    const flags = await write("json.json", { version: 1, stopped: [{ what: "writes", since }] });
    const [line = ""] = await explained("up", { ...flags, json: true });
    expect(JSON.parse(line).stops).toEqual({ stopped: [{ what: "writes", since }] });
  });
});

test("unknown codes get no explanation", () => {
  expect([findRemedy("constructor"), findRemedy("Initialized"), findRemedy("Denied")]).toEqual([
    undefined,
    undefined,
    expect.any(String),
  ]);
});

async function explained(name: string, more: object = {}): Promise<string[]> {
  const lines: string[] = [];
  const [relayKubeconfig, lifecycle] = await Promise.all([
    cluster.plane.kubeconfig("relay"),
    cluster.plane.kubeconfig("node-lifecycle"),
  ]);
  const flags = await cluster.flags("node", {
    ...{ cloudProvider: "memory", cloudConfig, relayKubeconfig },
    functionKubeconfig: [`node-lifecycle=${lifecycle}`],
    ...more,
  });
  await explain([name], flags, (line) => lines.push(line), {});
  return lines;
}

function joined(name: string, more: { readonly taints?: readonly (typeof CAPI)[] }): Promise<void> {
  const providerID = `memory:///zone-a/i-${name}`;
  return cluster.put(`/api/v1/nodes/${name}`, buildJoiningNode({ name, providerID, ...more }));
}

/** Creates a node that was initialized from its instance. */
async function up(
  name: string,
  { ready, taints }: { readonly ready: string; readonly taints: readonly object[] },
): Promise<void> {
  const node = buildJoiningNode({ name, providerID: `memory:///zone-a/i-${name}` });
  const path = `/api/v1/nodes/${name}`;
  const labels = {
    "node.kubernetes.io/instance-type": "small",
    "beta.kubernetes.io/instance-type": "small",
    "topology.kubernetes.io/zone": "zone-a",
    "failure-domain.beta.kubernetes.io/zone": "zone-a",
    "topology.kubernetes.io/region": "region-a",
    "failure-domain.beta.kubernetes.io/region": "region-a",
  };
  const annotations = { [INSTANCE_ANNOTATION]: `1/network-1/i-${name}` };
  const addresses = [
    { type: "InternalIP", address: "10.0.0.1" },
    { type: "Hostname", address: name },
  ];
  const conditions = [{ type: "Ready", status: ready, reason: "KubeletReady" }];
  await cluster.put(path, { ...node, metadata: { ...node.metadata, labels, annotations } });
  const patch = async (at: string, operations: object[]): Promise<void> => {
    const contentType = "application/json-patch+json";
    const { status, body } = await cluster.admin.send({
      method: "PATCH",
      path: at,
      body: operations,
      contentType,
    });
    if (status !== 200) throw new Error(`${at}: ${status} ${body}`);
  };
  await patch(path, [{ op: "add", path: "/spec/taints", value: taints }]);
  await patch(`${path}/status`, [
    { op: "add", path: "/status/addresses", value: addresses },
    { op: "add", path: "/status/conditions", value: conditions },
  ]);
}
