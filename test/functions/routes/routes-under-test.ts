import { fileURLToPath } from "node:url";
import {
  CreateRouteCommand,
  CreateRouteTableCommand,
  DescribeInstancesCommand,
  DescribeRouteTablesCommand,
  type Route,
} from "@aws-sdk/client-ec2";
import { expect, vi } from "vitest";
import { createAwsCloud } from "#clouds/aws/cloud.ts";
import { AwsCloudConfig } from "#clouds/aws/config.ts";
import type { Capability, Cloud } from "#clouds/cloud.ts";
import { Cluster } from "#config/cluster.ts";
import type { Controller } from "#core/controller.ts";
import type { EventReason } from "#core/event.ts";
import type { Report } from "#core/report.ts";
import { routeController } from "#core/route/controller.ts";
import { routeNodes } from "#core/route/related-node.ts";
import type { Stop } from "#core/stop.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import type { Transport } from "#kube/client/transport.ts";
import { type Clients, createClients, REGION } from "#test/clouds/aws/moto/clients.ts";
import { makeNetwork, type Network } from "#test/clouds/aws/moto/make-network.ts";
import { type MendedMoto, startMendedMoto } from "#test/clouds/aws/moto/start-mended-moto.ts";
import { JSON_PATCH } from "#test/emulators/control-plane/client.ts";
import { createLife, ignoreKilled } from "#test/functions/life.ts";
import type { ClusterUnderTest } from "#test/kube/apply/cluster-under-test.ts";
import type { MotoProgram } from "#test/setup/moto-program.ts";

/** Manifests of the route function's rights, and of what holds it to them. */
export const MANIFESTS: readonly string[] = ["rbac/node-route-controller", "admission/route.yaml"].map(
  (path) => fileURLToPath(new URL(`../../../infra/${path}`, import.meta.url)),
);

const TAG = "tenant-a";
export const CLUSTER_CIDRS = ["100.64.0.0/10", "fd00:10::/48"];

/** A node as the API server has it. */
export interface StoredNode {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly status: { readonly conditions?: readonly Readonly<Record<string, string>>[] };
}

/** How one invocation goes. */
export interface Invocation {
  /** So many requests and calls of the cloud are answered before the process is killed; all without it. */
  readonly steps?: number;
  readonly onStep?: (step: number) => Promise<unknown> | undefined;
  /** Instead of the nodes that there are. */
  readonly nodes?: readonly unknown[];
  readonly readStop?: (cluster: string) => Promise<Stop | undefined>;
  /** Deletion candidates of the report before, as a relay hands them back. */
  readonly candidates?: readonly { readonly id: string; readonly seconds: number }[];
  readonly reason?: EventReason;
  /** Answers in place of the API server where it answers with something. */
  readonly lie?: (request: { readonly path: string }) => string | undefined;
}

/** One cluster of a mended moto and one API server, and the function as its own identity. */
export interface RoutesUnderTest {
  readonly aws: Clients;
  readonly moto: MendedMoto;
  readonly network: Network;
  configure(cloud: object): void;
  /** A second table with the cluster's tag. */
  secondTable(): Promise<string>;
  /** Registers a node, with a new instance unless one is named; returns both. */
  join(name: string, podCIDRs: readonly string[], providerID?: string): Promise<string>;
  removeNode(name: string): Promise<void>;
  node(name: string): Promise<StoredNode>;
  /** All nodes, as the API server has them now. */
  listNodes(): Promise<readonly unknown[]>;
  /** Its condition, as `status reason`. */
  condition(name: string): Promise<string | undefined>;
  invoke(how?: Invocation): Promise<{ readonly report: Report | undefined; readonly steps: number }>;
  /** Routes of a table within the cluster's networks, as `cidr instance`. */
  routes(table?: string): Promise<readonly string[]>;
  addRoute(route: object): Promise<void>;
  /** Whether its instance forwards all traffic. */
  forwards(id: string): Promise<boolean>;
  /** Messages of the Events on a node. */
  events(name: string): Promise<readonly string[]>;
  reset(): Promise<void>;
  close(): Promise<void>;
}

/** Sets it up on a running API server. */
export async function startRoutes(cluster: ClusterUnderTest, program: MotoProgram): Promise<RoutesUnderTest> {
  const admin = await cluster.transport("admin");
  const api = await cluster.transport("route");
  const moto = await startMendedMoto(program);
  const environment = {
    AWS_ENDPOINT_URL: moto.url,
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
  };
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  const aws = createClients(moto.url);
  let network = await makeNetwork(aws.ec2, { clusterTag: TAG });
  let cloudConfig: object = {};
  const clouds: Cloud[] = [];

  const ask = async (method: "GET" | "POST" | "DELETE" | "PATCH", path: string, body?: unknown) => {
    const contentType = method === "PATCH" ? { contentType: JSON_PATCH } : {};
    const request = { method, path, ...contentType, ...(body === undefined ? {} : { body }) };
    const { status, body: text } = await admin.send(request);
    return { status, object: JSON.parse(text) };
  };
  const done = async (...asked: Parameters<typeof ask>) => {
    const { status, object } = await ask(...asked);
    expect([asked, status < 300 ? "done" : JSON.stringify(object)]).toEqual([asked, "done"]);
    return object;
  };
  const entryOf = (): Cluster =>
    Cluster.parse({
      name: TAG,
      server: "https://127.0.0.1",
      cloud: { provider: "aws", region: REGION, vpc: network.vpc, clusterTag: TAG, ...cloudConfig },
      controllers: [routeController.name],
      routes: { clusterCIDRs: CLUSTER_CIDRS },
    });
  const tableOf = async (id: string): Promise<readonly Route[]> => {
    const { RouteTables } = await aws.ec2.send(new DescribeRouteTablesCommand({ RouteTableIds: [id] }));
    return RouteTables?.[0]?.Routes ?? [];
  };

  const under: RoutesUnderTest = {
    aws,
    moto,
    get network() {
      return network;
    },
    configure(cloud) {
      cloudConfig = cloud;
    },
    async secondTable() {
      const tags = [{ Key: `kubernetes.io/cluster/${TAG}`, Value: "shared" }];
      const { RouteTable } = await aws.ec2.send(
        new CreateRouteTableCommand({
          VpcId: network.vpc,
          TagSpecifications: [{ ResourceType: "route-table", Tags: tags }],
        }),
      );
      return RouteTable?.RouteTableId ?? "";
    },
    async join(name, podCIDRs, providerID) {
      const id = providerID === undefined ? ((await network.launch(1))[0] ?? "") : "";
      await done("POST", "/api/v1/nodes", {
        apiVersion: "v1",
        kind: "Node",
        metadata: { name },
        spec: {
          providerID: providerID ?? `aws:///eu-central-1a/${id}`,
          ...(podCIDRs.length === 0 ? {} : { podCIDR: podCIDRs[0], podCIDRs }),
        },
      });
      const ready = {
        type: "Ready",
        status: "True",
        reason: "KubeletReady",
        message: "",
        lastHeartbeatTime: null,
        lastTransitionTime: null,
      };
      await done("PATCH", `/api/v1/nodes/${name}/status`, [
        { op: "add", path: "/status/conditions", value: [ready] },
      ]);
      return id;
    },
    async removeNode(name) {
      await done("DELETE", `/api/v1/nodes/${name}`);
    },
    node: async (name) => done("GET", `/api/v1/nodes/${name}`),
    async condition(name) {
      const { status } = await under.node(name);
      const found = status.conditions?.filter(({ type }) => type === "NetworkUnavailable") ?? [];
      return found.length === 0
        ? undefined
        : found.map((each) => `${each["status"]} ${each["reason"]}`).join();
    },
    async listNodes() {
      return (await done("GET", "/api/v1/nodes")).items;
    },
    async invoke({ steps, onStep, nodes, readStop, candidates, reason = "watch", lie } = {}) {
      const life = createLife(steps, onStep);
      const entry = entryOf();
      // What a killed process had in memory is gone with it.
      const cloud = createAwsCloud(AwsCloudConfig.parse(entry.cloud), { clusterName: TAG });
      clouds.push(cloud);
      const run = createControllerFunction(routeController as unknown as Controller, {
        clusters: async () => entry,
        cloud: async () => steppingCloud(cloud, life.step, life.landed),
        api: async () => life.transport(lie === undefined ? api : lyingTransport(api, lie)),
        now: () => new Date(),
        ...(readStop === undefined ? {} : { readStop: readStop }),
      });
      const list = await done("GET", "/api/v1/nodes");
      const namespace = await done("GET", "/api/v1/namespaces/kube-system");
      const report = await run(
        {
          version: 1,
          id: "event-1",
          cluster: entry.name,
          clusterHash: entry.hash,
          controller: routeController.name,
          reason,
          objects: [namespace],
          ...(candidates === undefined ? {} : { hints: { [namespace.metadata.uid]: { candidates } } }),
          related: {
            nodes: {
              resourceVersion: list.metadata.resourceVersion,
              items: (nodes ?? list.items).flatMap((item: unknown) => routeNodes.project(item) ?? []),
            },
          },
          budget: { share: 1 },
        },
        { awsRequestId: "1", getRemainingTimeInMillis: () => 30_000 },
      ).catch(ignoreKilled);
      await life.over();
      return { report, steps: life.taken() };
    },
    async routes(table = network.routeTable) {
      return (await tableOf(table))
        .flatMap(({ DestinationCidrBlock, DestinationIpv6CidrBlock, InstanceId, State, GatewayId }) => {
          const cidr = DestinationCidrBlock ?? DestinationIpv6CidrBlock ?? "";
          const isOurs = cidr.startsWith("100.") || cidr.startsWith("fd00:10:");
          const to = State === "blackhole" ? "blackhole" : (InstanceId ?? GatewayId ?? "?");
          return isOurs ? `${cidr} ${to}` : [];
        })
        .sort();
    },
    async addRoute(route) {
      await aws.ec2.send(new CreateRouteCommand({ RouteTableId: network.routeTable, ...route }));
    },
    async forwards(id) {
      const { Reservations } = await aws.ec2.send(new DescribeInstancesCommand({ InstanceIds: [id] }));
      const interfaces = Reservations?.[0]?.Instances?.[0]?.NetworkInterfaces ?? [];
      const primary = interfaces.find(({ Attachment }) => Attachment?.DeviceIndex === 0);
      return primary?.SourceDestCheck === false;
    },
    async events(name) {
      const { uid } = (await under.node(name)).metadata;
      const { items } = await done(
        "GET",
        `/api/v1/namespaces/default/events?fieldSelector=involvedObject.uid%3D${uid}`,
      );
      return items.map(({ reason, message }: { reason: string; message: string }) => `${reason}: ${message}`);
    },
    async reset() {
      for (const { metadata } of (await done("GET", "/api/v1/nodes")).items)
        await under.removeNode(metadata.name);
      await moto.reset();
      network = await makeNetwork(aws.ec2, { clusterTag: TAG });
      cloudConfig = {};
      moto.forgetCalls();
      for (const cloud of clouds.splice(0)) await cloud.close();
    },
    async close() {
      for (const cloud of clouds.splice(0)) await cloud.close();
      aws.close();
      vi.unstubAllEnvs();
      await moto.close();
    },
  };
  return under;
}

function lyingTransport(api: Transport, lie: NonNullable<Invocation["lie"]>): Transport {
  return {
    ...api,
    async send(request) {
      const body = lie(request);
      if (body === undefined) return api.send(request);
      return { ...(await api.send({ ...request, chunked: false })), status: 200, body };
    },
  };
}

function steppingCloud(cloud: Cloud, step: () => Promise<void>, landed: () => void): Cloud {
  const inner = cloud.capabilities?.["routes"];
  if (inner === undefined) throw new Error("the cloud has no routes");
  const routes: Capability = {
    async observe(questions, call) {
      await step();
      return inner.observe(questions, call);
    },
    async act(action, call) {
      await step();
      const result = await inner.act(action, call);
      landed();
      return result;
    },
  };
  return { ...cloud, capabilities: { routes } };
}
