import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DescribeSecurityGroupsCommand, type IpPermission } from "@aws-sdk/client-ec2";
import { vi } from "vitest";
import { createAwsCloud } from "#clouds/aws/cloud.ts";
import { AwsCloudConfig } from "#clouds/aws/config.ts";
import { sleepFor } from "#clouds/sleep.ts";
import { Cluster } from "#config/cluster.ts";
import type { EventReason } from "#core/event.ts";
import type { ObjectReport } from "#core/report.ts";
import type { Service } from "#core/service/service.ts";
import { serviceWatch } from "#core/service/watch.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import { serviceController } from "#functions/parts/service-controller.ts";
import { connect } from "#kube/client/connect.ts";
import { getConnectOptions } from "#test/access.ts";
import { askForJson } from "#test/ask.ts";
import { createClients, REGION } from "#test/clouds/aws/moto/clients.ts";
import { makeNetwork, type Network } from "#test/clouds/aws/moto/make-network.ts";
import { type MendedMoto, startMendedMoto } from "#test/clouds/aws/moto/start-mended-moto.ts";
import type { MotoProgram } from "#test/setup/moto-program.ts";

/** A cluster with many Services and an AWS account, in which the function is invoked for all Services at once. */
export interface ManyServices {
  readonly moto: MendedMoto;
  readonly network: Network;
  create(count: number): Promise<void>;
  delete(): Promise<void>;
  join(count: number): Promise<void>;
  /** One event with all Services. */
  invoke(reason?: EventReason): Promise<readonly ObjectReport[]>;
  services(): Promise<readonly Service[]>;
  /** What is let in on the nodes' security group. */
  nodeRules(): Promise<readonly IpPermission[]>;
  close(): Promise<void>;
}

interface List {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly unknown[];
}

const CLUSTER_TAG = "many";
const SERVICES = "/api/v1/namespaces/default/services";

/** Starts both, with two nodes. */
export async function startManyServices(program: MotoProgram): Promise<ManyServices> {
  const folder = await mkdtemp(join(tmpdir(), "many-services-"));
  const plane = await startEmbeddedControlPlane({ folder });
  const admin = connect(await getConnectOptions(plane, "admin"));
  const moto = await startMendedMoto(program, { hasPoints: true });
  const aws = createClients(moto.url);
  vi.stubEnv("AWS_ENDPOINT_URL", moto.url);
  vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
  vi.stubEnv("AWS_REGION", REGION);
  const network = await makeNetwork(aws.ec2, { clusterTag: CLUSTER_TAG });
  const cloud = { provider: "aws", region: REGION, vpc: network.vpc, clusterTag: CLUSTER_TAG };
  const cluster = Cluster.parse({ name: "tenant-a", server: plane.server, cloud });
  let nowMs = performance.now();
  const made = createAwsCloud(AwsCloudConfig.parse(cluster.cloud), {
    clusterName: cluster.name,
    now: () => nowMs,
    // Takes real time, so that concurrent calls can meet.
    sleep: async (delayMs, signal) => {
      await sleepFor(delayMs, signal);
      nowMs += delayMs;
    },
  });
  const run = createControllerFunction(serviceController, {
    clusters: async () => cluster,
    cloud: async () => made,
    api: async () => admin,
    now: () => new Date(),
    log: () => {},
  });
  let events = 0;

  async function list(path: string): Promise<List> {
    return (await askForJson(admin, { method: "GET", path })) as List;
  }

  async function services(): Promise<readonly Service[]> {
    const { items } = await list(SERVICES);
    const parsed = items.map((item) => serviceWatch.parse(item));
    const objects = parsed.flatMap((each) => (each.kind === "object" ? [each.object as Service] : []));
    return objects.filter(({ spec }) => spec.type === "LoadBalancer");
  }

  async function related() {
    const lists = serviceWatch.related.map(async ({ resource, project }) => {
      const { metadata, items } = await list(`/api/v1/${resource.name}`);
      const projected = items.map(project).filter((item) => item !== undefined);
      return [resource.name, { resourceVersion: metadata.resourceVersion, items: projected }] as const;
    });
    return Object.fromEntries(await Promise.all(lists));
  }

  async function joinNodes(count: number): Promise<void> {
    for (const name of await network.launch(count)) {
      const spec = { providerID: `aws:///${REGION}a/${name}` };
      const body = { apiVersion: "v1", kind: "Node", metadata: { name }, spec };
      await askForJson(admin, { method: "POST", path: "/api/v1/nodes", body });
    }
  }

  await joinNodes(2);
  return {
    moto,
    network,
    async create(count) {
      for (let index = 0; index < count; index += 1) {
        const annotations = { "service.beta.kubernetes.io/aws-load-balancer-type": "nlb" };
        const ports = [80, 443].map((port, place) => ({
          name: `port-${port}`,
          port,
          // Apart, or rules of ports that follow each other would be one.
          nodePort: 30_000 + 4 * index + 2 * place,
        }));
        const metadata = { name: `service-${index}`, annotations };
        const body = { apiVersion: "v1", kind: "Service", metadata, spec: { type: "LoadBalancer", ports } };
        await askForJson(admin, { method: "POST", path: SERVICES, body });
      }
    },
    async delete() {
      for (const { metadata } of await services())
        await askForJson(admin, { method: "DELETE", path: `${SERVICES}/${metadata.name}` });
    },
    join: joinNodes,
    async invoke(reason = "watch") {
      events += 1;
      const event = {
        version: 1,
        id: `event-${events}`,
        cluster: cluster.name,
        clusterHash: cluster.hash,
        controller: serviceController.name,
        reason,
        objects: await services(),
        budget: { share: 1 },
        related: await related(),
      };
      const { objects } = await run(JSON.parse(JSON.stringify(event)), {
        awsRequestId: event.id,
        getRemainingTimeInMillis: () => 120_000,
      });
      return objects;
    },
    services,
    async nodeRules() {
      const { SecurityGroups: [group] = [] } = await aws.ec2.send(
        new DescribeSecurityGroupsCommand({ GroupIds: [network.nodeGroup] }),
      );
      return group?.IpPermissions ?? [];
    },
    async close() {
      await made.close();
      aws.close();
      await admin.close();
      await Promise.all([moto.close(), plane.close()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
