import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { aws } from "#clouds/aws/provider.ts";
import { hcloud } from "#clouds/hcloud/provider.ts";
import { COMPARTMENT_ANNOTATION, FAULT_DOMAIN_LABEL, FULL_AD_LABEL } from "#clouds/oci/config.ts";
import { INSTANCE_ANNOTATION, LABEL_PAIRS } from "#core/contracts.ts";
import type { JoiningNodeOptions } from "#emulators/harness/joining-node.ts";
import { type KubeApiserver, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import type { ApiResponse } from "#kube/client/transport.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const POLICY = fileURLToPath(new URL("../../infra/admission/node.yaml", import.meta.url));

/**
 * Every row starts with a node with a foreign taint, then ours, and with a foreign label, annotation and
 * condition.
 */
const FOREIGN_TAINT = { key: "example.com/other", effect: "NoSchedule" };
const LABELS = LABEL_PAIRS.flatMap(({ beta, stable }) => [beta, stable]);

const CLOUD_LABELS = [
  FAULT_DOMAIN_LABEL,
  FULL_AD_LABEL,
  ...hcloud.labelPrefixes.map((prefix) => `${prefix}provided-by`),
];

interface Row {
  readonly what: string;
  readonly patch: readonly unknown[];
  readonly on?: "status";
}

/** Other status fields of a kubelet or a controller, with values that kube-apiserver accepts. */
const OTHER_STATUS: readonly (readonly [string, unknown])[] = [
  ["phase", "Running"],
  ["capacity", { pods: "1000" }],
  ["allocatable", { pods: "1000" }],
  ["runtimeHandlers", [{ name: "forged", features: { userNamespaces: true } }]],
  ["features", { supplementalGroupsPolicy: true }],
  ["images", [{ names: ["registry.example.com/forged"], sizeBytes: 1 }]],
  ["volumesAttached", [{ name: "kubernetes.io/csi/a^b", devicePath: "/dev/a" }]],
  ["volumesInUse", ["kubernetes.io/csi/a^b"]],
  ["daemonEndpoints", { kubeletEndpoint: { Port: 22 } }],
  ["nodeInfo/machineID", "forged"],
];

const ALLOWED: readonly Row[] = [
  { what: "removes the uninitialized taint", patch: [remove("/spec/taints/1")] },
  { what: "sets a provider ID", patch: [add("/spec/providerID", "aws:///a/i-1")] },
  ...[...LABELS, ...aws.labelPrefixes.map((prefix) => `${prefix}zone-id`), ...CLOUD_LABELS].map((key) => ({
    what: `labels ${key}`,
    patch: [add(`/metadata/labels/${pointer(key)}`, "x")],
  })),
  {
    what: "says which instance it is",
    patch: [add(`/metadata/annotations/${pointer(INSTANCE_ANNOTATION)}`, "1/vpc-1/i-1")],
  },
  {
    what: "says in which compartment it is",
    patch: [add(`/metadata/annotations/${pointer(COMPARTMENT_ANNOTATION)}`, "ocid1.compartment.oc1..c")],
  },
  {
    what: "writes addresses",
    patch: [add("/status/addresses", [{ type: "InternalIP", address: "10.0.0.4" }])],
    on: "status",
  },
];

const REFUSED: readonly (Row & { readonly says: string })[] = [
  { what: "removes another taint", patch: [remove("/spec/taints/0")], says: "removes no taint" },
  { what: "removes all taints", patch: [remove("/spec/taints")], says: "removes no taint" },
  {
    what: "adds a taint",
    patch: [add("/spec/taints/-", { key: "example.com/mine", effect: "NoExecute" })],
    says: "no taint",
  },
  {
    what: "changes a taint's effect",
    patch: [add("/spec/taints/0/effect", "NoExecute")],
    says: "no taint",
  },
  { what: "cordons", patch: [add("/spec/unschedulable", true)], says: "nothing else of the spec" },
  { what: "sets a pod CIDR", patch: [add("/spec/podCIDR", "10.1.0.0/24")], says: "nothing else of the spec" },
  {
    what: "labels something else",
    patch: [add("/metadata/labels/node-role.kubernetes.io~1control-plane", "")],
    says: "no labels but",
  },
  {
    what: "changes a label",
    patch: [add("/metadata/labels/kubernetes.io~1os", "plan9")],
    says: "no labels but",
  },
  { what: "removes a label", patch: [remove("/metadata/labels/kubernetes.io~1os")], says: "no labels but" },
  {
    what: "labels by the status",
    patch: [add("/metadata/labels/a", "b")],
    on: "status",
    says: "no labels but",
  },
  {
    what: "annotates something else",
    patch: [add("/metadata/annotations/a", "b")],
    says: "no annotation",
  },
  {
    what: "removes an annotation",
    patch: [remove("/metadata/annotations/volumes.kubernetes.io~1controller-managed-attach-detach")],
    says: "no annotation",
  },
  {
    what: "adds a finalizer",
    patch: [add("/metadata/finalizers", ["example.com/hold"])],
    says: "nothing of the metadata but labels and annotations: finalizers",
  },
  {
    what: "says that the node is ready",
    patch: [add("/status/conditions/3/status", "True")],
    on: "status",
    says: "nothing of the status",
  },
  {
    what: "changes what fits on the node",
    patch: [add("/status/allocatable/pods", "1000")],
    on: "status",
    says: "nothing of the status",
  },
  ...OTHER_STATUS.map(([field, value]) => ({
    what: `writes ${field} of the status`,
    patch: [add(`/status/${field}`, value)],
    on: "status" as const,
    says: `nothing of the status but addresses: ${field.split("/", 1)}`,
  })),
  {
    what: "takes the capacity of the status away",
    patch: [remove("/status/capacity")],
    on: "status",
    says: "nothing of the status but addresses: capacity",
  },
  {
    what: "says that the node has its routes, beside its addresses",
    patch: [
      add("/status/addresses", [{ type: "InternalIP", address: "10.0.0.4" }]),
      add("/status/conditions/-", { type: "NetworkUnavailable", status: "False" }),
    ],
    on: "status",
    says: "nothing of the status but addresses: conditions",
  },
  ...[...LABELS, "topology.k8s.aws/zone-id"].map((key) => ({
    what: `labels ${key} by the status`,
    patch: [add(`/metadata/labels/${pointer(key)}`, "x")],
    on: "status" as const,
    says: "no labels",
  })),
  {
    what: "says by the status which instance it is",
    patch: [add(`/metadata/annotations/${pointer(INSTANCE_ANNOTATION)}`, "1/vpc-1/i-1")],
    on: "status",
    says: "no annotation",
  },
];

describeWithPart("control-plane", "infra/admission/node.yaml: the identity that initializes", (binaries) => {
  let folder: string;
  let plane: KubeApiserver;
  let cluster: ClusterUnderTest;
  let count = 0;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "node-policy-"));
    cluster = await startCluster(async (folder) => {
      plane = await startKubeApiserver({ folder, binaries });
      return plane;
    });
    await plane.apply(POLICY);
    const [first] = REFUSED;
    await vi.waitFor(async () => expect((await write(first as Row)).status).toBe(422), { timeout: 30_000 });
  });
  afterAll(async () => {
    await cluster?.close();
    if (folder !== undefined) await rm(folder, { recursive: true });
  });

  it.each(ALLOWED)("$what", async (row) => {
    expect(await write(row)).toMatchObject({ status: 200 });
  });

  it.each(REFUSED)("never $what", async (row) => {
    const { status, body } = await write(row);
    expect([status, JSON.parse(body).message]).toEqual([422, expect.stringContaining(row.says)]);
  });

  it("never changes a provider ID, which the API server rejects too", async () => {
    const name = await join({ providerID: "aws:///a/i-1" });
    const { status, body } = await patch(name, [add("/spec/providerID", "aws:///a/i-2")]);
    expect([status, JSON.parse(body).message]).toEqual([
      422,
      expect.stringMatching(/sets a provider ID once|providerID/),
    ]);
  });

  it("initializes a node of the largest size within CEL's cost limit", async () => {
    const many = <Entry>(entry: (index: number) => Entry): Entry[] =>
      Array.from({ length: 200 }, (_, i) => entry(i));
    const name = await join({
      taints: many((index) => ({ key: `example.com/t${index}`, effect: "NoSchedule" })),
      labels: Object.fromEntries(many((index) => [`example.com/l${index}`, "x".repeat(60)])),
    });
    await cluster.patch(
      name,
      many((index) => add(`/metadata/annotations/a${index}`, "x".repeat(1_000))),
    );
    const images = many((index) => ({ names: [`registry.example.com/image-${index}`], sizeBytes: 1 }));
    await cluster.patch(`${name}/status`, [add("/status/images", images)]);
    const addresses = [{ type: "InternalIP", address: "10.0.0.4" }];
    expect(await patch(`${name}/status`, [add("/status/addresses", addresses)])).toMatchObject({
      status: 200,
    });
    const initialized = [
      add("/spec/providerID", "aws:///a/i-1"),
      ...LABELS.map((key) => add(`/metadata/labels/${pointer(key)}`, "x")),
      remove("/spec/taints/200"),
    ];
    expect(await patch(name, initialized)).toMatchObject({ status: 200 });
  });

  it("applies to no other identity", async () => {
    const name = await join();
    await expect(cluster.patch(name, [add("/spec/unschedulable", true)])).resolves.toBeUndefined();
  });

  it("writes the labels that an operator lists from the cloud's tags", async () => {
    const key = "example.com/team";
    const row: Row = { what: "labels of a tag", patch: [add(`/metadata/labels/${pointer(key)}`, "blue")] };
    expect((await write(row)).status).toBe(422);
    const listed = (await readFile(POLICY, "utf8")).replace('expression: "[]"', `expression: "['${key}']"`);
    const file = path.join(folder, "listed.yaml");
    await writeFile(file, listed);
    await plane.apply(file);
    await vi.waitFor(async () => expect((await write(row)).status).toBe(200), { timeout: 30_000 });
  });

  async function write(row: Row): Promise<ApiResponse> {
    const name = await join();
    return patch(row.on === undefined ? name : `${name}/${row.on}`, row.patch);
  }

  async function join(options: Partial<JoiningNodeOptions> = {}): Promise<string> {
    count += 1;
    await cluster.join({ name: `node-${count}`, taints: [FOREIGN_TAINT], ...options });
    return `node-${count}`;
  }

  function patch(name: string, body: readonly unknown[]): Promise<ApiResponse> {
    const contentType = "application/json-patch+json";
    return cluster.functions.send({ method: "PATCH", path: `/api/v1/nodes/${name}`, body, contentType });
  }
});

function add(path: string, value: unknown): unknown {
  return { op: "add", path, value };
}

function remove(path: string): unknown {
  return { op: "remove", path };
}

function pointer(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}
