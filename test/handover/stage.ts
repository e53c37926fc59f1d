import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { buildAwsEnvironment } from "#bench/contenders/process-contender.ts";
import { STOCK_USER } from "#bench/stage.ts";
import { ClusterEntry } from "#config/cluster.ts";
import { formatRemainingFlag, listHandedOver } from "#core/handover.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import type { Ec2Instance } from "#emulators/ec2/instance.ts";
import type { InstanceSpec } from "#emulators/ec2/instance-spec.ts";
import { type Ec2Server, startEc2 } from "#emulators/ec2/server.ts";
import { buildClusterEntry } from "#emulators/harness/clusters-file.ts";
import { findFreePort } from "#emulators/harness/free-port.ts";
import { buildJoiningNode, type JoiningNodeOptions } from "#emulators/harness/joining-node.ts";
import {
  type ControlPlaneBinaries,
  type KubeApiserver,
  startKubeApiserver,
} from "#emulators/harness/kube-apiserver.ts";
import { writeKubeconfig } from "#emulators/harness/kubeconfig.ts";
import { type ManagedProcess, startProcess } from "#emulators/harness/managed-process.ts";
import { type NodeHistory, recordNodeHistory } from "#emulators/harness/node-history.ts";
import type { Transport } from "#kube/client/transport.ts";
import { type Ended, type Running, runProgram, startProgram } from "#test/cli/program.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";

/** The name of the cluster, in its clusters file and in the tags of its instances. */
export const CLUSTER = "tenant-a";

/** The stock controller's flag after the hand-over of our default controllers. */
export const WITHOUT_NODES = formatRemainingFlag(
  listHandedOver(ClusterEntry.shape.controllers.parse(undefined)),
);

/** A real API server, EC2, the stock AWS controller and ours, each started on request. */
export interface HandoverStage {
  readonly plane: KubeApiserver;
  readonly cluster: ClusterUnderTest;
  readonly admin: Transport;
  readonly ec2: Ec2Server;
  readonly history: NodeHistory;
  readonly clustersFile: string;
  /** Starts the stock controller with these flags, after the previous one has ended. */
  startStock(...flags: readonly string[]): Promise<void>;
  stopStock(): Promise<void>;
  /** Returns the stock controller's log. */
  stockSaid(): Promise<string>;
  /** Starts `serverless-ccm relay` over the clusters file, and the functions behind Lambda's Invoke API. */
  startOurs(...flags: readonly string[]): Promise<Running>;
  /** Runs one of our commands to its end. */
  command(...flags: readonly string[]): Promise<Ended>;
  /** Returns the flags with which `run` or `handover --check` reach the cluster without a clusters file. */
  flags(): Promise<readonly string[]>;
  /**
   * Launches instances and registers their nodes, all at once. The nodes are Ready, as after a kubelet's
   * first minute.
   */
  join(count: number, spec?: InstanceSpec, kubelet?: KubeletOptions): Promise<readonly Ec2Instance[]>;
  untilUp(instances: readonly Ec2Instance[], timeoutMs?: number): Promise<void>;
  close(): Promise<void>;
}

/** The start options of some nodes' kubelets. */
export interface KubeletOptions extends Pick<JoiningNodeOptions, "nodeIP"> {
  /** Without --provider-id. */
  readonly isUnnamed?: boolean;
  readonly isNotReady?: boolean;
}

/** Starts a stage without a controller. The caller closes it. */
export async function startHandoverStage(
  binaries: ControlPlaneBinaries,
  stock: string,
): Promise<HandoverStage> {
  const folder = await mkdtemp(join(tmpdir(), "handover-"));
  const ec2 = await startEc2({ behaviour: { latencyMs: 20, quotas: QUOTAS } });
  let plane: KubeApiserver | undefined;
  const cluster = await startCluster(async (planeFolder) => {
    plane = await startKubeApiserver({
      folder: planeFolder,
      binaries,
      users: [{ name: STOCK_USER, groups: ["system:authenticated"] }],
      manifests: [RBAC, STOCK_ACCESS],
    });
    return plane;
  });
  if (plane === undefined) throw new Error("the control plane was not started");
  const started = plane;
  const admin = await cluster.transport("admin");
  const history = await recordNodeHistory(admin);
  const clustersFile = join(folder, "clusters.yaml");
  await writeFile(clustersFile, clustersText(started, ec2.region));
  const cloudConfig = join(folder, "cloud.yaml");
  await writeFile(
    cloudConfig,
    `region: ${ec2.region}\nvpc: ${DEFAULT_VPC_ID}\nclusterTag: ${CLUSTER}\nnodeIPFamilies: [ipv4, ipv6]\n`,
  );
  await writeStockFiles(folder, started, ec2.region);
  const environment = buildAwsEnvironment(ec2.url, ec2.region);
  const ours: (() => Promise<unknown>)[] = [];
  const stockLog = join(folder, "stock.log");
  let running: ManagedProcess | undefined;
  let starts = 0;

  async function stopStock(): Promise<void> {
    const stopping = running;
    running = undefined;
    await stopping?.stop("SIGTERM");
  }

  return {
    plane: started,
    cluster,
    admin,
    ec2,
    history,
    clustersFile,
    async startStock(...flags) {
      await stopStock();
      running = startProcess(
        stock,
        [...STOCK_FLAGS, ...buildStockFlags(folder), `--secure-port=${await findFreePort()}`, ...flags],
        { environment, logFile: stockLog },
      );
      starts += 1;
      await waitUntilLeading(running, stockLog, starts);
    },
    stopStock,
    stockSaid: () => readText(stockLog),
    async startOurs(...flags) {
      const port = await findFreePort();
      const functions = startProcess(process.execPath, [PLATFORM, String(port)], {
        environment: { ...environment, CLUSTERS_FILE: clustersFile },
      });
      ours.push(() => functions.stop("SIGKILL"));
      await waitUntil("the functions", async () => functions.output().includes("listening"), 30_000);
      const relay = startProgram(
        ["relay", "--clusters-file", clustersFile, "--function-prefix", "ccm-", "--port", "0", ...flags],
        { ...environment, AWS_ENDPOINT_URL_LAMBDA: `http://127.0.0.1:${port}` },
      );
      ours.push(() => relay.end("SIGKILL"));
      await relay.line("Listed");
      return relay;
    },
    command: (...flags) => runProgram(flags, "", environment),
    flags: async () => [
      ...["--cloud-provider", "aws", "--cloud-config", cloudConfig, "--cluster-name", CLUSTER],
      ...["--kubeconfig", await started.kubeconfig("admin")],
    ],
    async join(count, spec = {}, kubelet = {}) {
      const tags = { [`kubernetes.io/cluster/${CLUSTER}`]: "owned" };
      const instances = ec2.addInstances(Array.from({ length: count }, () => ({ tags, ...spec })));
      await Promise.all(instances.map((instance) => register(instance, kubelet)));
      return instances;
    },
    untilUp: (instances, timeoutMs = 120_000) =>
      waitUntil(
        `${instances.length} nodes to come up`,
        async () => {
          const up = [...history.records.values()].filter(({ latest, deleted }) => !deleted && isUp(latest));
          const names = new Set(up.map(({ name }) => name));
          return instances.every(({ privateDnsName }) => names.has(privateDnsName));
        },
        timeoutMs,
      ),
    async close() {
      for (const end of ours.splice(0).reverse()) await end();
      await running?.stop("SIGKILL");
      await history.close();
      await cluster.close();
      await ec2.close();
      await rm(folder, { recursive: true });
    },
  };

  async function register(instance: Ec2Instance, kubelet: KubeletOptions): Promise<void> {
    const { id, availabilityZone, privateDnsName, privateIpAddress = "" } = instance;
    const ipv6 = instance.networkInterfaces[0]?.ipv6Addresses[0] ?? "";
    await registerAs("kubelet", {
      name: privateDnsName,
      ...(kubelet.isUnnamed ? {} : { providerID: `aws:///${availabilityZone}/${id}` }),
      ...(kubelet.nodeIP === undefined
        ? {}
        : { nodeIP: kubelet.nodeIP.replace("$ipv4", privateIpAddress).replace("$ipv6", ipv6) }),
    });
    if (!kubelet.isNotReady) await setReady(admin, privateDnsName, "True");
  }

  /**
   * Registers with another field manager: tests read the writer of a field, and a node from our own client
   * would look like ours.
   */
  async function registerAs(manager: string, options: JoiningNodeOptions): Promise<void> {
    const path = `/api/v1/nodes?fieldManager=${manager}`;
    const { status, body } = await admin.send({ method: "POST", path, body: buildJoiningNode(options) });
    if (status !== 201) throw new Error(`${options.name} cannot be registered: ${status} ${body}`);
  }
}

/** Sets a node's Ready status, as its kubelet or Kubernetes' node lifecycle controller does. */
export async function setReady(
  admin: Transport,
  name: string,
  status: "True" | "False" | "Unknown",
): Promise<void> {
  const { status: code, body } = await admin.send({
    method: "PATCH",
    path: `/api/v1/nodes/${name}/status?fieldManager=kubelet`,
    contentType: "application/strategic-merge-patch+json",
    body: { status: { conditions: [{ type: "Ready", status, reason: "Test" }] } },
  });
  if (code !== 200) throw new Error(`the condition of ${name} cannot be set: ${code} ${body}`);
}

/** Polls until the condition holds; rejects with a description of it. */
export async function waitUntil(
  what: string,
  holds: () => Promise<boolean>,
  timeoutMs: number,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs / 1000} s for ${what}`);
    await sleep(100);
  }
}

const PLATFORM = fileURLToPath(new URL("platform.ts", import.meta.url));
const RBAC = fileURLToPath(new URL("../../infra/rbac", import.meta.url));
const STOCK_ACCESS = fileURLToPath(new URL("../../bench/stock/access.yaml", import.meta.url));

/**
 * A quota of one call a second would hide all else of the stock controller, which calls for each node
 * separately.
 */
const QUOTAS = { DescribeInstanceTopology: { capacity: 100_000, refillPerSecond: 100_000 } };

/**
 * Its defaults, with more workers and a lease that expires sooner, because only one instance runs at a time.
 */
const STOCK_FLAGS = [
  "--cloud-provider=aws",
  `--cluster-name=${CLUSTER}`,
  "--configure-cloud-routes=false",
  "--concurrent-node-syncs=10",
  "--kube-api-qps=200",
  "--kube-api-burst=400",
  "--leader-elect-lease-duration=4s",
  "--leader-elect-renew-deadline=3s",
  "--leader-elect-retry-period=1s",
  "--bind-address=127.0.0.1",
];

/** Returns the flags with which the stock controller finds the files in this folder. */
export function buildStockFlags(folder: string): readonly string[] {
  return [
    `--cloud-config=${join(folder, "stock.conf")}`,
    `--kubeconfig=${join(folder, "stock.kubeconfig")}`,
    `--cert-dir=${folder}`,
  ];
}

async function writeStockFiles(folder: string, plane: KubeApiserver, region: string): Promise<void> {
  const settings = [
    `Zone = ${region}a`,
    `VPC = ${DEFAULT_VPC_ID}`,
    "SubnetID = subnet-00000000000000001",
    `KubernetesClusterID = ${CLUSTER}`,
    "NodeIPFamilies = ipv4",
    "NodeIPFamilies = ipv6",
  ];
  await writeStock(folder, plane, settings);
}

/** Writes the stock controller's kubeconfig, and its cloud-config with these settings, into a folder. */
export async function writeStock(
  folder: string,
  plane: KubeApiserver,
  settings: readonly string[],
): Promise<void> {
  await writeKubeconfig(join(folder, "stock.kubeconfig"), {
    cluster: CLUSTER,
    server: plane.server,
    certificateAuthorityFile: plane.certificateAuthorityFile,
    user: STOCK_USER,
    tokenFile: plane.tokenFileOf(STOCK_USER),
  });
  await writeFile(join(folder, "stock.conf"), `[Global]\n${settings.join("\n")}\n`);
}

/** Includes comments, which every change of the file must keep. */
function clustersText(plane: KubeApiserver, region: string): string {
  const cloud: ClusterEntry["cloud"] = {
    provider: "aws",
    region,
    vpc: DEFAULT_VPC_ID,
    clusterTag: CLUSTER,
    nodeIPFamilies: ["ipv4", "ipv6"],
  };
  const entry = buildClusterEntry(plane, { name: CLUSTER, cloud });
  return `# Clusters of this test.
clusters:
  - name: ${entry.name} # the only one
    server: ${entry.server}
    certificateAuthorityFile: ${entry.certificateAuthorityFile}
    signIn: ${JSON.stringify(entry.signIn)}
    cloud: ${JSON.stringify(entry.cloud)}
    policies:
      dryRun: true # until it is handed over
`;
}

/** Waits until the stock controller has become leader this many times. */
export async function waitUntilLeading(process: ManagedProcess, log: string, times: number): Promise<void> {
  await waitUntil(
    "the stock controller to lead",
    async () => {
      if (process.hasExited()) throw new Error(`the stock controller ended: ${process.output()}`);
      return (await readText(log).catch(() => "")).split("Successfully acquired lease").length > times;
    },
    60_000,
  );
}

function isUp(
  node: Parameters<typeof isUninitialized>[0] & {
    readonly status: { readonly addresses?: readonly { readonly type: string }[] | undefined };
  },
): boolean {
  return !isUninitialized(node) && (node.status.addresses ?? []).some(({ type }) => type === "InternalIP");
}

export function readText(file: string): Promise<string> {
  return readFile(file, "utf8");
}
