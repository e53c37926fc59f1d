import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { AllocateAddressCommand, RunInstancesCommand } from "@aws-sdk/client-ec2";
import { STOCK_USER } from "#bench/stage.ts";
import { awsLoadBalancerModel } from "#clouds/aws/load-balancers/model.ts";
import { Cluster } from "#config/cluster.ts";
import {
  type ControlPlaneBinaries,
  OUR_MANIFESTS,
  startKubeApiserver,
} from "#emulators/harness/kube-apiserver.ts";
import { PROJECT_FOLDER } from "#emulators/harness/project-folder.ts";
import { connect } from "#kube/client/connect.ts";
import type { ApiRequest, Transport } from "#kube/client/transport.ts";
import { getConnectOptions } from "#test/access.ts";
import { ask, askForJson } from "#test/ask.ts";
import { createAwsWithoutWaits } from "#test/clouds/aws/aws-without-waits.ts";
import { type Clients, createClients, REGION } from "#test/clouds/aws/moto/clients.ts";
import { IMAGE_ID, makeNetwork, type Network } from "#test/clouds/aws/moto/make-network.ts";
import { type MendedMoto, startMendedMoto } from "#test/clouds/aws/moto/start-mended-moto.ts";
import { tidyShared } from "#test/clouds/tidy-shared.ts";
import { CLUSTER } from "#test/handover/stage.ts";
import type { MotoProgram } from "#test/setup/moto-program.ts";
import type { Contender, StartContender } from "./contenders.ts";

export type SideName = "stock" | "ours";

/** An instance of one side. Its name is the same on both sides; its ids are not. */
export interface Machine {
  readonly id: string;
  readonly zone: string;
  readonly nodeName: string;
  readonly address: string;
  /** The Elastic IP address that it may have. */
  readonly elastic: { readonly allocation: string; readonly address: string };
}

/** An API server and a cloud with one contender. */
export interface Side {
  readonly name: SideName;
  readonly moto: MendedMoto;
  /** Clients of the cloud as the contender has it. */
  readonly aws: Clients;
  /** Clients of moto itself, which no failure reaches. They may change instances and addresses alone. */
  readonly direct: Clients;
  /** Replacements of ids, addresses and uids that differ between the sides. */
  readonly names: Readonly<Record<string, string>>;
  readonly network: Network;
  readonly machines: ReadonlyMap<number, Machine>;
  /** Empties cluster and cloud, and starts the contender. */
  begin(): Promise<void>;
  launch(node: number): Promise<Machine>;
  /** Adds a replacement. */
  rename(from: string, to: string): void;
  /** Sends a request as administrator; rejects on a status of 300 or more. */
  ask(request: ApiRequest): Promise<unknown>;
  /** Sends a request as administrator. Resolves to false if the object is gone or has changed, and nothing is done. */
  attempt(request: ApiRequest): Promise<boolean>;
  /** Removes unused shared resources, as our audits of an hour do. */
  tidy(): Promise<void>;
  /** Returns why the contender no longer runs; undefined while it runs. */
  failure(): string | undefined;
  contenderSaid(): Promise<string>;
  stop(): Promise<void>;
  close(): Promise<void>;
}

export interface SidePrograms {
  readonly binaries: ControlPlaneBinaries;
  readonly moto: MotoProgram;
}

/** Starts a side without a contender. The caller closes it. */
export async function startSide(
  name: SideName,
  { binaries, moto: motoProgram }: SidePrograms,
  startContender: StartContender,
): Promise<Side> {
  const folder = await mkdtemp(join(tmpdir(), `differential-${name}-`));
  const plane = await startKubeApiserver({
    folder: join(folder, "control-plane"),
    binaries,
    users: [{ name: STOCK_USER, groups: ["system:authenticated"] }],
    manifests: [...OUR_MANIFESTS, SERVICE_RIGHTS, STOCK_ACCESS],
  });
  const admin = connect({ ...(await getConnectOptions(plane, "admin")), ...PATIENCE });
  const moto = await startMendedMoto(motoProgram);
  const [aws, direct] = [createClients(moto.url), createClients(moto.motoUrl)];
  const machines = new Map<number, Machine>();
  const names = new Map<string, string>();
  let network: Network | undefined;
  let contender: Contender | undefined;

  const getNetwork = (): Network => {
    if (network === undefined) throw new Error("the side has not begun");
    return network;
  };
  const stop = async (): Promise<void> => {
    const stopping = contender;
    contender = undefined;
    await stopping?.stop();
  };

  return {
    name,
    moto,
    aws,
    direct,
    get names() {
      return Object.fromEntries(names);
    },
    get network() {
      return getNetwork();
    },
    machines,
    async begin() {
      await stop();
      await emptyCluster(admin);
      await moto.reset();
      machines.clear();
      names.clear();
      network = await makeNetwork(aws.ec2, { clusterTag: CLUSTER });
      names.set(network.vpc, "<vpc>").set(network.routeTable, "<route table>");
      for (const [index, id] of network.subnets.entries()) names.set(id, `<subnet ${index}>`);
      for (const id of network.gateways) names.set(id, "<gateway>");
      contender = await startContender({ folder, plane, url: moto.url, network });
    },
    async launch(node) {
      const machine = await launch(direct, getNetwork(), node);
      machines.set(node, machine);
      names.set(machine.id, `<instance ${node}>`);
      names.set(machine.elastic.address, `<public ${node}>`);
      names.set(machine.elastic.address.replaceAll(".", "-"), `<public ${node}>`);
      return machine;
    },
    rename: (from, to) => void names.set(from, to),
    ask: (request) => askForJson(admin, request),
    async attempt(request) {
      const { status, body } = await admin.send(request);
      if (status < 300) return true;
      if (status === 404 || status === 409) return false;
      // When kube-apiserver repeats a patch that met another write, its first try still has the ports.
      if (status === 422 && body.includes("provided port is already allocated")) return false;
      throw new Error(`${name}: ${request.method} ${request.path}: ${status} ${body.slice(0, 1_000)}`);
    },
    tidy: () => inTurn(() => tidy(moto.url, getNetwork().vpc, plane.server)),
    failure: () => contender?.failure(),
    contenderSaid: async () => (await contender?.said()) ?? "",
    stop,
    async close() {
      await stop();
      aws.close();
      direct.close();
      await admin.close();
      await Promise.all([plane.close(), moto.close()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The administrator is no contender: on a busy machine it waits. */
const PATIENCE = { connectTimeoutMs: 60_000, requestTimeoutMs: 60_000, pingTimeoutMs: 60_000 };

const SERVICE_RIGHTS = join(PROJECT_FOLDER, "infra/rbac/service-lb-controller");
const STOCK_ACCESS = fileURLToPath(new URL("../../bench/stock/access.yaml", import.meta.url));

export const SERVICES_PATH = "/api/v1/namespaces/default/services";
const MERGE = "application/merge-patch+json";

/** Deletes all nodes, Services and Events, and the deletion state. */
async function emptyCluster(admin: Transport): Promise<void> {
  const { items } = (await askForJson(admin, { method: "GET", path: SERVICES_PATH })) as {
    readonly items: readonly { readonly metadata: { readonly name: string } }[];
  };
  for (const { metadata } of items.filter((each) => each.metadata.name !== "kubernetes")) {
    const path = `${SERVICES_PATH}/${metadata.name}`;
    const body = { metadata: { finalizers: null } };
    await admin.send({ method: "PATCH", path, contentType: MERGE, body });
    await admin.send({ method: "DELETE", path });
  }
  await ask(admin, { method: "DELETE", path: "/api/v1/nodes" });
  await ask(admin, { method: "DELETE", path: "/api/v1/namespaces/default/events" });
  const path = "/api/v1/namespaces/kube-system/configmaps/serverless-ccm";
  await ask(admin, { method: "PATCH", path, contentType: MERGE, body: { data: null } });
}

/** Launches an instance whose address and DNS name are the same on both sides. */
async function launch(aws: Clients, { subnets, nodeGroup }: Network, node: number): Promise<Machine> {
  const index = node % subnets.length;
  const address = `10.20.${index * 16}.${10 + node}`;
  const { Instances = [] } = await aws.ec2.send(
    new RunInstancesCommand({
      ImageId: IMAGE_ID,
      InstanceType: "m7i.large",
      MinCount: 1,
      MaxCount: 1,
      NetworkInterfaces: [
        {
          DeviceIndex: 0,
          SubnetId: subnets[index],
          PrivateIpAddress: address,
          Groups: [nodeGroup],
          AssociatePublicIpAddress: false,
        },
      ],
      TagSpecifications: [
        {
          ResourceType: "instance",
          Tags: [{ Key: `kubernetes.io/cluster/${CLUSTER}`, Value: "owned" }],
        },
      ],
    }),
  );
  const elastic = await aws.ec2.send(new AllocateAddressCommand({ Domain: "vpc" }));
  const { InstanceId = "", PrivateDnsName = "", Placement } = Instances[0] ?? {};
  return {
    id: InstanceId,
    zone: Placement?.AvailabilityZone ?? "",
    nodeName: PrivateDnsName,
    address,
    elastic: { allocation: elastic.AllocationId ?? "", address: elastic.PublicIp ?? "" },
  };
}

let turns: Promise<unknown> = Promise.resolve();

/** The SDK of an audit finds its endpoint in the environment of the process, so audits go one at a time. */
function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  const done = turns.then(work);
  turns = done.catch(() => undefined);
  return done;
}

/** What the contender's own audit has marked as unused is so for longer than an audit's grace. */
const AFTER_AUDITS_MS = 1_200_000;

async function tidy(url: string, vpc: string, server: string): Promise<void> {
  const keys = { AWS_ACCESS_KEY_ID: "test", AWS_SECRET_ACCESS_KEY: "test" };
  Object.assign(process.env, { AWS_ENDPOINT_URL: url, AWS_REGION: REGION, ...keys });
  const cloud = { provider: "aws", region: REGION, vpc, clusterTag: CLUSTER };
  const cluster = Cluster.parse({ name: CLUSTER, server, cloud });
  const account = createAwsWithoutWaits(cluster);
  await tidyShared(awsLoadBalancerModel, cluster, account, Date.now() + AFTER_AUDITS_MS);
  await account.close();
}
