import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { STOCK_USER } from "#bench/stage.ts";
import { awsLoadBalancerModel } from "#clouds/aws/load-balancers/model.ts";
import { Cluster } from "#config/cluster.ts";
import { EXCLUDE_FROM_LOAD_BALANCERS_LABEL } from "#core/contracts.ts";
import type { Service } from "#core/service/service.ts";
import { findFreePort } from "#emulators/harness/free-port.ts";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import {
  type ControlPlaneBinaries,
  type KubeApiserver,
  OUR_MANIFESTS,
  startKubeApiserver,
} from "#emulators/harness/kube-apiserver.ts";
import { type ManagedProcess, startProcess } from "#emulators/harness/managed-process.ts";
import { connect } from "#kube/client/connect.ts";
import { getConnectOptions } from "#test/access.ts";
import { ask, askForJson } from "#test/ask.ts";
import { type Running, startProgram } from "#test/cli/program.ts";
import { createAwsWithoutWaits } from "#test/clouds/aws/aws-without-waits.ts";
import { type Clients, createClients, REGION } from "#test/clouds/aws/moto/clients.ts";
import { makeNetwork, type Network } from "#test/clouds/aws/moto/make-network.ts";
import {
  type MendedMoto,
  type MendedMotoOptions,
  startMendedMoto,
} from "#test/clouds/aws/moto/start-mended-moto.ts";
import { tidyShared } from "#test/clouds/tidy-shared.ts";
import { type AwsState, readAwsState } from "#test/crash-consistency/aws/state.ts";
import { buildStockFlags, CLUSTER, readText, waitUntilLeading, writeStock } from "#test/handover/stage.ts";
import type { MotoProgram } from "#test/setup/moto-program.ts";

/**
 * A real API server and an AWS account with nodes, the stock AWS controller and ours, each started on
 * request.
 */
export interface ServicesStage {
  readonly moto: MendedMoto;
  readonly aws: Clients;
  readonly network: Network;
  /** Starts the stock controller only for Services, with these additional flags; resolves when it leads. */
  startStock(...flags: readonly string[]): Promise<void>;
  stopStock(): Promise<void>;
  /** Returns the stock controller's log. */
  stockSaid(): Promise<string>;
  /** Starts `serverless-ccm run` only for Services, from its sources or as built. */
  /** Additional lines for the configuration of its cloud. */
  startOurs(program?: string, cloud?: readonly string[]): Promise<Running>;
  stopOurs(): Promise<void>;
  /** Returns the process id of the running controller, if any. */
  pid(): number | undefined;
  /** Returns our log lines since the last start. */
  oursSaid(): Running["lines"];
  /** Launches this many instances with initialized nodes; reports each node that has joined. */
  join(count: number, onJoined?: (id: string) => void): Promise<readonly string[]>;
  /** Excludes a node from load balancers, by its label. */
  exclude(id: string): Promise<void>;
  create(name: string, annotations: Readonly<Record<string, string>>): Promise<Service>;
  read(name: string): Promise<Service>;
  /** Merges this into the Service. */
  merge(name: string, patch: object): Promise<void>;
  remove(name: string): Promise<void>;
  /** Deletes a Service that still exists, including its finalizers. */
  release(name: string): Promise<void>;
  /** Whether no Service of that name exists any more. */
  isGone(name: string): Promise<boolean>;
  /** Returns the names of all Services. */
  names(): Promise<readonly string[]>;
  /** Returns the names of Services whose load balancer has a hostname. */
  addressed(): Promise<readonly string[]>;
  state(): Promise<AwsState>;
  /** Removes unused shared resources, as our audits of an hour do. */
  tidy(): Promise<void>;
  /** Returns the reasons of the stock controller's Events on a Service, one for each occurrence. */
  stockEvents(name: string): Promise<readonly string[]>;
  close(): Promise<void>;
}

interface EventList {
  readonly items: readonly {
    readonly metadata: { readonly managedFields?: readonly { readonly manager?: string }[] };
    readonly reason: string;
    readonly count?: number;
  }[];
}

const PATH = "/api/v1/namespaces/default/services";

/** Starts a stage without a controller. The caller closes it. */
export async function startServicesStage(
  binaries: ControlPlaneBinaries,
  stock: string,
  program: MotoProgram,
  options: MendedMotoOptions = {},
): Promise<ServicesStage> {
  const folder = await mkdtemp(join(tmpdir(), "services-"));
  const moto = await startMendedMoto(program, options);
  const aws = createClients(moto.url);
  const network = await makeNetwork(aws.ec2, { clusterTag: CLUSTER });
  const plane = await startKubeApiserver({
    folder,
    binaries,
    users: [{ name: STOCK_USER, groups: ["system:authenticated"] }],
    manifests: [...OUR_MANIFESTS, STOCK_ACCESS],
  });
  const admin = connect(await getConnectOptions(plane, "admin"));
  const environment = {
    ...{ PATH: process.env["PATH"], HOME: process.env["HOME"] },
    ...{ AWS_REGION: REGION, AWS_EC2_METADATA_DISABLED: "true", AWS_ENDPOINT_URL: moto.url },
    ...{ AWS_ACCESS_KEY_ID: "test", AWS_SECRET_ACCESS_KEY: "test" },
  };
  await writeFiles(folder, plane, network);
  const stockLog = join(folder, "stock.log");
  let stockProcess: ManagedProcess | undefined;
  let starts = 0;
  let ours: Running | undefined;

  async function stopStock(): Promise<void> {
    const stopping = stockProcess;
    stockProcess = undefined;
    await stopping?.stop("SIGTERM");
  }

  async function stopOurs(): Promise<void> {
    const stopping = ours;
    ours = undefined;
    await stopping?.end("SIGTERM");
  }

  async function services(): Promise<readonly Service[]> {
    const { items } = (await askForJson(admin, { method: "GET", path: PATH })) as {
      items: readonly Service[];
    };
    return items.filter(({ spec }) => spec.type === "LoadBalancer");
  }

  return {
    moto,
    aws,
    network,
    async startStock(...flags) {
      const running = startProcess(
        stock,
        [...STOCK_FLAGS, ...buildStockFlags(folder), `--secure-port=${await findFreePort()}`, ...flags],
        { environment, logFile: stockLog },
      );
      stockProcess = running;
      starts += 1;
      await waitUntilLeading(running, stockLog, starts);
    },
    stopStock,
    stockSaid: () => readText(stockLog),
    async startOurs(program, cloud = []) {
      await appendFile(join(folder, "cloud.yaml"), cloud.map((line) => `${line}\n`).join(""));
      ours = startProgram(
        [
          ...["run", "--cloud-provider", "aws", "--cloud-config", join(folder, "cloud.yaml")],
          ...["--cluster-name", CLUSTER, "--kubeconfig", await plane.kubeconfig("admin")],
          ...["--controllers", "service-lb-controller", "--port", "0"],
        ],
        environment,
        program,
      );
      await ours.line("Listed");
      return ours;
    },
    stopOurs,
    pid: () => stockProcess?.pid ?? ours?.child.pid,
    oursSaid: () => ours?.lines ?? [],
    async join(count, onJoined = () => {}) {
      const ids = await network.launch(count);
      for (const id of ids) {
        const node = buildJoiningNode({ name: id, providerID: `aws:///${REGION}a/${id}` });
        const body = { ...node, spec: { ...node.spec, taints: [] } };
        await ask(admin, { method: "POST", path: "/api/v1/nodes?fieldManager=kubelet", body });
        onJoined(id);
      }
      return ids;
    },
    async exclude(id) {
      const contentType = "application/merge-patch+json";
      const body = { metadata: { labels: { [EXCLUDE_FROM_LOAD_BALANCERS_LABEL]: "true" } } };
      await ask(admin, { method: "PATCH", path: `/api/v1/nodes/${id}`, contentType, body });
    },
    create: async (name, annotations) => {
      const ports = [
        { name: "http", port: 80, targetPort: 8080 },
        { name: "other", port: 443, targetPort: 8443 },
      ];
      const body = {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name, annotations },
        spec: { type: "LoadBalancer", selector: { app: name }, ports },
      };
      return (await askForJson(admin, { method: "POST", path: PATH, body })) as Service;
    },
    read: async (name) => (await askForJson(admin, { method: "GET", path: `${PATH}/${name}` })) as Service,
    async merge(name, body) {
      const contentType = "application/merge-patch+json";
      await ask(admin, { method: "PATCH", path: `${PATH}/${name}`, contentType, body });
    },
    async remove(name) {
      await ask(admin, { method: "DELETE", path: `${PATH}/${name}` });
    },
    async release(name) {
      const contentType = "application/merge-patch+json";
      const body = { metadata: { finalizers: null } };
      await admin.send({ method: "PATCH", path: `${PATH}/${name}`, contentType, body });
      await admin.send({ method: "DELETE", path: `${PATH}/${name}` });
    },
    isGone: async (name) => (await admin.send({ method: "GET", path: `${PATH}/${name}` })).status === 404,
    names: async () => (await services()).map(({ metadata }) => metadata.name),
    addressed: async () =>
      (await services())
        .filter(({ status }) => status?.loadBalancer?.ingress?.[0]?.hostname !== undefined)
        .map(({ metadata }) => metadata.name),
    state: () => readAwsState(aws, network.vpc, {}),
    async tidy() {
      // The SDK finds the account in the environment of its process.
      Object.assign(process.env, environment);
      const cloud = { provider: "aws", region: REGION, vpc: network.vpc, clusterTag: CLUSTER };
      const cluster = Cluster.parse({ name: CLUSTER, server: plane.server, cloud });
      const account = createAwsWithoutWaits(cluster);
      await tidyShared(awsLoadBalancerModel, cluster, account, Date.now());
      await account.close();
    },
    async stockEvents(name) {
      const path = `/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3D${name}`;
      const { items } = (await askForJson(admin, { method: "GET", path })) as EventList;
      // Both controllers use the same component name, so the field manager distinguishes their Events.
      const theirs = items.filter(({ metadata }) =>
        metadata.managedFields?.every(({ manager }) => manager !== "serverless-ccm"),
      );
      return theirs.flatMap(({ reason, count = 1 }) => Array.from({ length: count }, () => reason));
    },
    async close() {
      await ours?.end("SIGKILL");
      await stockProcess?.stop("SIGKILL");
      aws.close();
      await admin.close();
      await Promise.all([plane.close(), moto.close()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const STOCK_ACCESS = fileURLToPath(new URL("../../bench/stock/access.yaml", import.meta.url));

const STOCK_FLAGS = [
  "--cloud-provider=aws",
  `--cluster-name=${CLUSTER}`,
  "--controllers=service-lb-controller",
  "--leader-elect-lease-duration=4s",
  "--leader-elect-renew-deadline=3s",
  "--leader-elect-retry-period=1s",
  "--bind-address=127.0.0.1",
];

async function writeFiles(folder: string, plane: KubeApiserver, { vpc, subnets }: Network): Promise<void> {
  const settings = [
    `Zone = ${REGION}a`,
    `VPC = ${vpc}`,
    `SubnetID = ${subnets[0]}`,
    `KubernetesClusterID = ${CLUSTER}`,
  ];
  await writeStock(folder, plane, settings);
  await writeFile(join(folder, "cloud.yaml"), `region: ${REGION}\nvpc: ${vpc}\nclusterTag: ${CLUSTER}\n`);
}
