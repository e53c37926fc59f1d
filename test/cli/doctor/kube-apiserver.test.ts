import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { listSigners } from "#cli/doctor/context.ts";
import { formatRight, listNeededRights } from "#cli/doctor/permissions.ts";
import { CloudConfig } from "#clouds/providers.ts";
import type { Cluster } from "#config/cluster.ts";
import type { LookAheadSource } from "#core/node/settings.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import { type Ec2Server, startEc2 } from "#emulators/ec2/server.ts";
import { buildClusterEntry, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { type KubeApiserver, startKubeApiserver, WRITES_RELAY } from "#emulators/harness/kube-apiserver.ts";
import type { Transport } from "#kube/client/transport.ts";
import { runProgram } from "#test/cli/program.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
const STATE = "infra/state";

describeWithPart("control-plane", "doctor on a real API server", (binaries) => {
  let folder: string;
  let file: string;
  let cluster: ClusterUnderTest;
  let plane: KubeApiserver;
  let admin: Transport;
  let ec2: Ec2Server;
  let region: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "doctor-"));
    ec2 = await startEc2();
    region = ec2.region;
    ec2.addInstance();
    cluster = await startCluster(async (planeFolder) => {
      plane = await startKubeApiserver({ folder: planeFolder, binaries, manifests: ["infra/rbac", STATE] });
      return plane;
    });
    admin = await cluster.transport("admin");
    const providerID = `aws:///${ec2.zones[0]?.name}/i-0123456789abcdef0`;
    await cluster.join({ name: "node-1", providerID });
    await renewLease();
    file = join(folder, "clusters.yaml");
    await writeClustersFile(
      file,
      buildClusterEntry(cluster.plane, {
        name: "tenant-a",
        cloud: { provider: "aws", region, vpc: DEFAULT_VPC_ID },
      }),
    );
  });
  afterAll(async () => {
    await cluster?.close();
    await ec2?.close();
    if (folder !== undefined) await rm(folder, { recursive: true });
  });

  test("finds no problem if everything is as the manifests create it", async () => {
    const { code, findings } = await doctor();
    expect(findings.filter(({ outcome }) => outcome !== "ok")).toEqual([
      { cluster: "tenant-a", check: "functions", outcome: "skipped", message: expect.any(String) },
    ]);
    expect(code).toBe(0);
    expect(messageOf(findings, "api-server")).toMatch(/^v1\.\d+\.\d+.* at https:/);
    expect(messageOf(findings, "identity of node-lifecycle")).toBe(
      "signs in as serverless-ccm-node-lifecycle",
    );
    expect(messageOf(findings, "permissions of node-lifecycle")).toBe(
      "may do the 7 things that it needs, and nothing else",
    );
    expect(messageOf(findings, "cloud network")).toContain("1 instance");
  });

  test.each([
    ["relay", "watch", "nodes", "may not watch nodes"],
    ["node", "patch", "nodes", "may not patch nodes"],
    ["node-lifecycle", "delete", "nodes", "may not delete nodes"],
    ["sweep", "list", "nodes", "may not list nodes"],
  ])("reports that the %s may not %s %s", async (identity, verb, resource, message) => {
    const undo = await withRules(identity, (rules) =>
      rules
        .map((rule) =>
          rule.resources.includes(resource)
            ? { ...rule, verbs: rule.verbs.filter((each) => each !== verb) }
            : rule,
        )
        .filter(({ verbs }) => verbs.length > 0),
    );
    const { code, findings } = await doctor();
    await undo();
    expect(code).toBe(1);
    expect(findings.find(({ check }) => check === `permissions of ${identity}`)).toMatchObject({
      outcome: "failed",
      message,
      remedy: expect.stringContaining("kubectl apply -f infra/rbac/"),
    });
  });

  test.each([
    ["node", [""], ["secrets"], ["get"], undefined, "and more: get secrets"],
    ["relay", ["*"], ["*"], ["*"], undefined, "and more: * *.*"],
    ["relay", [""], ["configmaps"], ["update"], ["a"], "and more: update configmaps a"],
  ])(
    "warns of a %s with additional rights: %j %j %j %j",
    async (identity, apiGroups, resources, verbs, resourceNames, message) => {
      const undo = await withRules(identity, (rules) => [
        ...rules,
        { apiGroups, resources, verbs, ...(resourceNames === undefined ? {} : { resourceNames }) },
      ]);
      const { code, findings } = await doctor();
      await undo();
      expect(code).toBe(0);
      expect(findings.find(({ check }) => check === `permissions of ${identity}`)).toMatchObject({
        outcome: "warning",
        message: expect.stringContaining(message),
        remedy: expect.any(String),
      });
    },
  );

  test("by flags one identity needs the rights of all our identities", async () => {
    const kubeconfig = await cluster.plane.kubeconfig("node");
    const cloud = join(folder, "cloud.yaml");
    await writeFile(cloud, `region: ${region}\nvpc: ${DEFAULT_VPC_ID}\n`);
    const { code, findings } = await doctor(
      ...["--kubeconfig", kubeconfig, "--cloud-provider", "aws", "--cloud-config", cloud],
    );
    expect(code).toBe(1);
    expect(messageOf(findings, "permissions of relay, node, node-lifecycle")).toContain(
      "may not list nodes, watch nodes",
    );
    expect(findings.find(({ check }) => check === "kubelets")).toMatchObject({ outcome: "failed" });
  });

  test("if the relay writes, it checks every identity by the relay's sign-in alone, once that may act as them", async () => {
    const written = join(folder, "written.yaml");
    const cloud = { provider: "aws" as const, region, vpc: DEFAULT_VPC_ID };
    const entry = buildClusterEntry(cluster.plane, { name: "tenant-a", cloud, writes: "relay" });
    await writeClustersFile(written, { ...entry, signIn: { relay: entry.signIn?.relay } });
    const before = await doctor("--clusters-file", written);
    expect(before.code).toBe(1);
    expect(messageOf(before.findings, "permissions of relay")).toContain("may not impersonate users");
    expect(messageOf(before.findings, "identity of node")).toContain("cannot impersonate");
    await plane.apply(WRITES_RELAY);
    const after = await doctor("--clusters-file", written);
    expect(after.findings.filter(({ outcome }) => outcome === "failed" || outcome === "warning")).toEqual([]);
    expect(messageOf(after.findings, "identity of node-lifecycle")).toBe(
      "signs in as serverless-ccm-node-lifecycle",
    );
    expect(messageOf(after.findings, "permissions of sweep")).toContain("and nothing else");
    // In this cluster functions write.
    const wider = await doctor();
    expect(messageOf(wider.findings, "permissions of relay")).toContain("and more: impersonate users");
    for (const path of ["clusterrolebindings", "clusterroles"])
      await admin.send({
        method: "DELETE",
        path: `/apis/rbac.authorization.k8s.io/v1/${path}/serverless-ccm-relay-writes`,
      });
  });

  async function doctor(...flags: readonly string[]) {
    const how = flags.length > 0 ? flags : ["--clusters-file", file];
    const { code, stdout } = await runProgram(["doctor", "--json", ...how], "", {
      CLUSTERS_FILE: undefined,
      AWS_ENDPOINT_URL_EC2: ec2.url,
      AWS_ENDPOINT_URL_STS: ec2.url,
      AWS_ACCESS_KEY_ID: "test",
      AWS_SECRET_ACCESS_KEY: "test",
    });
    const findings = stdout.split("\n").flatMap((line): Told[] => (line === "" ? [] : [JSON.parse(line)]));
    return { code, findings };
  }

  async function withRules(identity: string, change: (rules: readonly Rule[]) => readonly Rule[]) {
    const path = `${ROLES}/serverless-ccm-${identity}`;
    const role = JSON.parse((await admin.send({ method: "GET", path })).body);
    const put = async (rules: readonly Rule[]): Promise<void> => {
      const patch = [{ op: "add", path: "/rules", value: rules }];
      const contentType = "application/json-patch+json";
      const { status, body } = await admin.send({ method: "PATCH", path, body: patch, contentType });
      if (status !== 200) throw new Error(`${path}: ${status} ${body}`);
    };
    await put(change(role.rules));
    return () => put(role.rules);
  }

  async function renewLease(): Promise<void> {
    const path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/serverless-ccm-relay";
    const patch = [{ op: "add", path: "/spec", value: { renewTime: micro(new Date()) } }];
    const contentType = "application/json-patch+json";
    const { status, body } = await admin.send({ method: "PATCH", path, body: patch, contentType });
    if (status !== 200) throw new Error(`${path}: ${status} ${body}`);
  }
});

const MEMORY: Cluster["cloud"] = { provider: "memory", instancesFile: "a" };

test.each([
  ["memory", MEMORY, []],
  [
    "keepalived",
    CloudConfig.parse({ provider: "keepalived", configMap: "mine", serviceCIDR: "10.0.0.0/24" }),
    ["get configmaps mine in kube-system", "patch configmaps mine in kube-system"],
  ],
  [
    "kube-vip",
    CloudConfig.parse({ provider: "kubevip", namespace: "vips" }),
    ["patch services", "get configmaps kubevip in vips"],
  ],
])(
  "the service function needs the rights for the data that it keeps in a cluster of %s",
  (_, cloud, more) => {
    const signer = { name: "service", role: "service", identities: ["service"] } as const;
    const words = (of: Cluster["cloud"]) =>
      listNeededRights(signer, {
        ...{ cloud: of, nodes: DEFAULT_SETTINGS.nodes },
        ...{ controllers: ["service-lb-controller"], writes: "function" },
      }).map(formatRight);
    expect(words(cloud).filter((each) => !words(MEMORY).includes(each))).toEqual(more);
  },
);

test("every identity with a sign-in or a controller is checked for what its controllers need", () => {
  const cluster = { controllers: ["cloud-node-controller"], signIn: {} } as unknown as Cluster;
  const signers = listSigners({ cluster, signInOf: (role) => (role === "relay" ? "relay" : "functions") });
  expect(signers.map(({ name }) => name)).toEqual(["relay", "node"]);
  const [relay] = signers;
  if (relay === undefined) throw new Error("there is no relay");
  const needs = (controllers: string[], lookAhead: LookAheadSource[] = []) =>
    listNeededRights(relay, {
      ...{ cloud: MEMORY, nodes: { ...DEFAULT_SETTINGS.nodes, lookAhead } },
      ...{ controllers, writes: "function" },
    }).filter(({ resource }) => resource === "certificatesigningrequests").length;
  expect([needs(["cloud-node-controller"]), needs(["csr-approver"])]).toEqual([0, 2]);
  expect(needs(["cloud-node-controller"], ["node-claims"])).toBe(0);
  expect(needs(["cloud-node-controller"], ["kubelet-csrs"])).toBe(2);
});

interface Told {
  readonly check: string;
  readonly outcome: string;
  readonly message: string;
  readonly remedy?: string;
}

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

function messageOf(findings: readonly Told[], check: string): string | undefined {
  return findings.find((finding) => finding.check === check)?.message;
}

function micro(date: Date): string {
  return date.toISOString().replace("Z", "000Z");
}
