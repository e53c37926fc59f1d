import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { readServingSettings, type ServingFlags } from "#cli/relay/serving-settings.ts";
import { type ClusterFlags, readClusterSettings } from "#cli/settings/cluster-settings.ts";
import { Cluster } from "#config/cluster.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";

let folder: string;
const file = (name: string): string => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "settings-"));
  await writeFile(file("kubeconfig"), kubeconfigOf("https://127.0.0.1:6443", { token: "s3cret" }));
  await writeFile(file("relay"), kubeconfigOf("https://127.0.0.1:6443/", { token: "other" }));
  await writeFile(file("with-token-file"), kubeconfigOf("https://127.0.0.1:6443", { tokenFile: "token" }));
  await writeFile(file("token"), "from-file\n");
  await writeFile(file("no-token"), kubeconfigOf("https://127.0.0.1:6443", { tokenFile: "absent" }));
  await writeFile(file("plain-http"), kubeconfigOf("http://127.0.0.1:8080", { token: "s3cret" }));
  await writeFile(
    file("impersonating"),
    kubeconfigOf("https://127.0.0.1:6443", { token: "s3cret", as: "root" }),
  );
  await writeFile(file("rubbish"), "s3cret: [");
  await writeFile(file("aws.yaml"), "region: eu-central-1\nvpc: vpc-0a\nnodeIPFamilies: [ipv4, ipv6]\n");
  await writeFile(file("unknown-key.yaml"), "region: eu-central-1\nvpc: vpc-0a\nvcp: vpc-0b\n");
  await writeFile(file("no-region.yaml"), "vpc: vpc-0a\n");
  await writeFile(file("list.yaml"), "- a\n");
  await writeFile(file("tab.yaml"), "nodeIPFamilies:\n\t- ipv4\n");
  await writeFile(file("typo.yaml"), "region: eu-centrl-1\nvpc: vpc-0a\n");
});
afterAll(() => rm(folder, { recursive: true }));

type Flags = ClusterFlags & ServingFlags;

describe("readClusterSettings", () => {
  test("reads one cluster with two identities", async () => {
    const settings = await read({ relayKubeconfig: file("relay"), dryRun: true });
    expect(settings.cluster).toMatchObject({
      name: "tenant-a",
      server: "https://127.0.0.1:6443",
      cloud: { provider: "aws", region: "eu-central-1", vpc: "vpc-0a", nodeIPFamilies: ["ipv4", "ipv6"] },
      controllers: ["cloud-node-controller", "cloud-node-lifecycle-controller"],
      policies: { dryRun: true },
    });
    expect(await settings.relayAccess.authorization()).toBe("Bearer other");
    expect(await settings.functionsAccess.authorization()).toBe("Bearer s3cret");
  });

  test.each<[string, Partial<Flags>, object]>([
    ["no more than it must", {}, {}],
    ["all controllers", { controllers: "*" }, {}],
    ["a dry run", { dryRun: true }, { policies: { dryRun: true } }],
    ["a monitor period", { nodeMonitorPeriod: "10s" }, { nodes: { monitorSeconds: 10 } }],
    ["a grace", { nodeDeletionGrace: "1m30s" }, { nodes: { deletion: { graceSeconds: 90 } } }],
    ["no deletion", { deleteNodes: "false" }, { nodes: { deletion: { enabled: false } } }],
    ["deletion, in so many words", { deleteNodes: true }, { nodes: { deletion: { enabled: true } } }],
    [
      "deletion as the stock controller's",
      { deleteUnseenNodes: "T" },
      { nodes: { deletion: { unseen: true } } },
    ],
    [
      "all flags about nodes",
      { nodeMonitorPeriod: "1m", nodeDeletionGrace: "45s", deleteNodes: "1", deleteUnseenNodes: "0" },
      { nodes: { monitorSeconds: 60, deletion: { enabled: true, unseen: false, graceSeconds: 45 } } },
    ],
    [
      "tags of instances",
      { controllers: "tagging", tags: "team=a,url=x=y,empty=", resources: "instance" },
      {
        controllers: ["tagging"],
        tagging: { tags: { team: "a", url: "x=y", empty: "" }, resources: ["instance"] },
      },
    ],
    [
      "deletion of orphaned load balancers",
      { deleteOrphanedLoadBalancers: true },
      { loadBalancers: { deleteOrphaned: true } },
    ],
    [
      "no deletion of them, in so many words",
      { deleteOrphanedLoadBalancers: "F" },
      { loadBalancers: { deleteOrphaned: false } },
    ],
    ["how many load balancers there may be", { loadBalancersMax: "250" }, { loadBalancers: { max: 250 } }],
    ["what is tagged, alone", { resources: "instance" }, { tagging: { resources: ["instance"] } }],
  ])("has the hash of an equivalent entry: %s", async (_, difference, written) => {
    const { cluster } = await read(difference);
    const cloud = { provider: "aws", ...parse(await readFile(file("aws.yaml"), "utf8")) };
    const entry = { name: "tenant-a", server: "https://127.0.0.1:6443", cloud, ...written };
    expect(cluster.hash).toBe(Cluster.parse(entry).hash);
  });

  test("signs in with a token file next to the kubeconfig", async () => {
    const settings = await read({ kubeconfig: file("with-token-file") });
    expect(await settings.functionsAccess.authorization()).toBe("Bearer from-file");
  });

  test("takes the region from the environment if the file has none, and the file's otherwise", async () => {
    const fromEnvironment = await read({ cloudConfig: file("no-region.yaml") }, { AWS_REGION: "us-east-1" });
    const fromFile = await read({}, { AWS_REGION: "us-east-1" });
    expect(fromEnvironment.cluster.cloud).toMatchObject({ region: "us-east-1" });
    expect(fromFile.cluster.cloud).toMatchObject({ region: "eu-central-1" });
  });

  test.each<[string, () => Partial<Flags>, string, string]>([
    ["an unknown cloud", () => ({ cloudProvider: "azure" }), "--cloud-provider", "known are "],
    ["no cloud", () => ({ cloudProvider: undefined }), "--cloud-provider", "is required"],
    [
      "a missing region",
      () => ({ cloudConfig: file("no-region.yaml") }),
      "--cloud-config region",
      "or set AWS_REGION",
    ],
    [
      "an unknown key",
      () => ({ cloudConfig: file("unknown-key.yaml") }),
      "--cloud-config vcp",
      "unknown key; did you mean vpc?",
    ],
    [
      "a cloud-config that is a list",
      () => ({ cloudConfig: file("list.yaml") }),
      "--cloud-config",
      "YAML mapping",
    ],
    ["a missing cloud-config", () => ({ cloudConfig: file("absent") }), "--cloud-config", "cannot be read"],
    [
      "a cloud-config without end",
      () => ({ cloudConfig: "/dev/zero" }),
      "--cloud-config",
      "not a regular file",
    ],
    ["a kubeconfig without end", () => ({ kubeconfig: "/dev/zero" }), "--kubeconfig", "not a regular file"],
    [
      "a tab in the cloud-config",
      () => ({ cloudConfig: file("tab.yaml") }),
      "--cloud-config line 2, column 1",
      "a tab; YAML is indented with spaces alone",
    ],
    [
      "a region that can be none",
      () => ({ cloudConfig: file("typo.yaml") }),
      "--cloud-config region",
      "did you mean eu-central-1?",
    ],
    ["a bad cluster name", () => ({ clusterName: "Tenant_A" }), "--cluster-name", "DNS name"],
    [
      "a missing kubeconfig",
      () => ({ kubeconfig: file("absent") }),
      "--kubeconfig",
      "cannot be read (ENOENT)",
    ],
    ["no kubeconfig", () => ({ kubeconfig: undefined }), "--kubeconfig", "is required"],
    [
      "a kubeconfig without its token file",
      () => ({ kubeconfig: file("no-token") }),
      "--kubeconfig",
      "absent cannot be read (ENOENT)",
    ],
    ["an invalid kubeconfig", () => ({ kubeconfig: file("rubbish") }), "--kubeconfig", "is not a kubeconfig"],
    ["a plain-text server", () => ({ kubeconfig: file("plain-http") }), "--kubeconfig", "is not https"],
    ["impersonation", () => ({ kubeconfig: file("impersonating") }), "--kubeconfig", "impersonation"],
    ["an unknown controller", () => ({ controllers: "router" }), "--controllers", "is not a controller"],
    [
      "an invalid monitor period",
      () => ({ nodeMonitorPeriod: "5" }),
      "--node-monitor-period",
      "not a duration of 1s to 1m0s",
    ],
    [
      "a monitor period without pause",
      () => ({ nodeMonitorPeriod: "10ms" }),
      "--node-monitor-period",
      "not a duration of 1s to 1m0s",
    ],
    [
      "a monitor period longer than the longest pause",
      () => ({ nodeMonitorPeriod: "61s" }),
      "--node-monitor-period",
      "not a duration of 1s to 1m0s",
    ],
    [
      "no grace",
      () => ({ nodeDeletionGrace: "0s" }),
      "--node-deletion-grace",
      "not a duration of 1s to 5m0s",
    ],
    [
      "a grace longer than answers are remembered",
      () => ({ nodeDeletionGrace: "1h" }),
      "--node-deletion-grace",
      "not a duration of 1s to 5m0s",
    ],
    [
      "an invalid switch of deletions",
      () => ({ deleteNodes: "no" }),
      "--delete-nodes",
      "write true or false",
    ],
    [
      "another invalid switch",
      () => ({ deleteUnseenNodes: "yes" }),
      "--delete-unseen-nodes",
      "write true or false",
    ],
    [
      "deletion of unseen nodes, and of none",
      () => ({ deleteNodes: "false", deleteUnseenNodes: true }),
      "--delete-unseen-nodes",
      "contradicts --delete-nodes=false",
    ],
    ["no network of pods", () => ({ controllers: "*,route" }), "--cluster-cidr", "is missing"],
    ["an invalid network", () => ({ clusterCidr: "10.0.0.0" }), "--cluster-cidr", "10.128.0.0/14"],
    [
      "two networks of one family",
      () => ({ clusterCidr: "10.0.0.0/16,10.1.0.0/16" }),
      "--cluster-cidr",
      "cannot be used",
    ],
    [
      "three networks",
      () => ({ clusterCidr: "10.0.0.0/16,fd00::/56,10.1.0.0/16" }),
      "--cluster-cidr",
      "cannot be used",
    ],
    [
      "a list with white space within, as for the stock controller",
      () => ({ clusterCidr: "10.0.0.0/16, fd00::/56" }),
      "--cluster-cidr",
      "cannot be used",
    ],
    [
      "a period that is too short",
      () => ({ routeReconciliationPeriod: "1s" }),
      "--route-reconciliation-period",
      "10s to 24h",
    ],
    [
      "an invalid switch of routes",
      () => ({ configureCloudRoutes: "no" }),
      "--configure-cloud-routes",
      "write true or false",
    ],
    ["tagging without tags", () => ({ controllers: "tagging" }), "--tags", "is required with the controller"],
    [
      "an invalid switch",
      () => ({ deleteOrphanedLoadBalancers: "maybe" }),
      "--delete-orphaned-load-balancers",
      "neither",
    ],
    ["an invalid number", () => ({ loadBalancersMax: "many" }), "--load-balancers-max", "0 to 5000"],
    ["a number beyond", () => ({ loadBalancersMax: "5001" }), "--load-balancers-max", "0 to 5000"],
    ["an invalid tag", () => ({ tags: "team=a,,=b" }), "--tags", '"" is not a tag'],
    ["a tag that says whose it is", () => ({ tags: "aws:x=a" }), "--tags", '"aws:x": a tag whose key begins'],
    [
      "routes alone, and none to be made",
      () => ({ controllers: "route", configureCloudRoutes: "false" }),
      "--controllers",
      "routes.configure is false",
    ],
    ["another resource", () => ({ resources: "volume" }), "--resources", '"instance"'],
  ])("%s is a fault by name", async (_given, difference, name, message) => {
    const faults = await faultsOf(difference());
    expect(faults).toContainEqual({ name, message: expect.stringContaining(message) });
  });

  test.each([
    [{ controllers: "*,route", clusterCidr: " 10.0.0.0/14,fd00:10::/56 " }, true],
    [{ controllers: "*,route", configureCloudRoutes: "false" }, false],
    [{ controllers: "*" }, false],
  ])("routes are created if they are configured: %o", async (difference, isOn) => {
    const { cluster } = await readClusterSettings(flags(difference), {}, []);
    expect(cluster.controllers.includes("node-route-controller")).toBe(isOn);
    if (isOn) expect(cluster.routes.clusterCIDRs).toEqual(["10.0.0.0/14", "fd00:10::/56"]);
  });

  test("an unreadable cloud-config causes no fault about a missing key", async () => {
    const faults = await faultsOf({ cloudConfig: file("absent") });
    expect(faults.map(({ name }) => name)).toEqual(["--cloud-config"]);
  });

  test("reports all faults at once, and no secret", async () => {
    const faults = await faultsOf({
      cloudProvider: "azure",
      cloudConfig: file("unknown-key.yaml"),
      kubeconfig: file("rubbish"),
      controllers: "nodeipam",
      clusterCidr: "10.0.0.0",
      configureCloudRoutes: "never",
      routeReconciliationPeriod: "1s",
      port: "70000",
      nodeStatusUpdateFrequency: "5",
      nodeMonitorPeriod: "5",
      nodeDeletionGrace: "5",
      deleteNodes: "F",
      deleteUnseenNodes: true,
    });
    expect(faults.map((fault) => fault.name)).toEqual([
      "--node-status-update-frequency",
      "--port",
      "--cloud-provider",
      "--controllers",
      "--node-monitor-period",
      "--node-deletion-grace",
      "--delete-unseen-nodes",
      "--configure-cloud-routes",
      "--route-reconciliation-period",
      "--cluster-cidr",
      "--kubeconfig",
    ]);
    expect(JSON.stringify(faults)).not.toContain("s3cret");
  });
});

describe("readServingSettings", () => {
  test.each([
    ["100", 1],
    ["50", 0.5],
    ["1", 0.01],
  ])("reads %s percent as this process's part of the quotas", (quotaPercent, quotaPart) => {
    const faults: ConfigurationFault[] = [];
    expect(readServingSettings(flags({ quotaPercent }), faults)).toMatchObject({ quotaPart });
    expect(faults).toEqual([]);
  });

  test.each<[string | undefined, readonly string[]]>([
    [undefined, []],
    ["relay.example.org", ["relay.example.org"]],
    [" a.example, ,b_c.example. ", ["a.example", "b_c.example."]],
  ])("reads %j as the names that it accepts", (allowedHosts, hosts) => {
    const faults: ConfigurationFault[] = [];
    expect(readServingSettings(flags({ allowedHosts }), faults)).toMatchObject({ allowedHosts: hosts });
    expect(faults).toEqual([]);
  });

  test.each<[string, readonly string[]]>([
    ["*", ['"*" is not a DNS name']],
    ["a.example:80,https://b.example,c.example", ['"a.example:80" is no', '"https://b.example" is no']],
    [Array.from({ length: 101 }, (_, each) => `h${each}`).join(), ["101 names; give at most 100"]],
  ])("rejects invalid names in %j", (allowedHosts, messages) => {
    const faults: ConfigurationFault[] = [];
    readServingSettings(flags({ allowedHosts }), faults);
    expect(faults).toEqual(
      messages.map((message) => ({ name: "--allowed-hosts", message: expect.stringContaining(message) })),
    );
  });

  test.each(["0", "101", "-1", "50%", "0.5", "", "1e2", "ten"])("rejects %j of them", (quotaPercent) => {
    const faults: ConfigurationFault[] = [];
    readServingSettings(flags({ quotaPercent }), faults);
    expect(faults).toEqual([
      { name: "--quota-percent", message: `"${quotaPercent}" is not a part of the quotas; give 1 to 100` },
    ]);
  });
});

function flags(difference: Partial<Flags>): Flags {
  return {
    cloudProvider: "aws",
    cloudConfig: file("aws.yaml"),
    clusterName: "tenant-a",
    kubeconfig: file("kubeconfig"),
    controllers: "*",
    nodeStatusUpdateFrequency: "5m0s",
    bindAddress: "127.0.0.1",
    port: "10258",
    quotaPercent: "100",
    given: new Set(),
    dryRun: false,
    ...difference,
  };
}

function read(difference: Partial<Flags>, environment: Record<string, string> = {}) {
  const faults: ConfigurationFault[] = [];
  readServingSettings(flags(difference), faults);
  return readClusterSettings(flags(difference), environment, faults);
}

async function faultsOf(difference: Partial<Flags>): Promise<readonly ConfigurationFault[]> {
  const error = await read(difference).catch((reason: unknown) => reason);
  if (!(error instanceof ConfigurationError))
    throw new Error(`expected a ConfigurationError, got ${String(error)}`);
  return error.faults;
}

function kubeconfigOf(server: string, user: { token?: string; tokenFile?: string; as?: string }): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "a",
    clusters: [{ name: "a", cluster: { server } }],
    users: [{ name: "a", user }],
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
  });
}
