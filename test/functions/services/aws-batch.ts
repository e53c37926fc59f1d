import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DescribeSecurityGroupsCommand } from "@aws-sdk/client-ec2";
import { DescribeLoadBalancersCommand as DescribeClassicCommand } from "@aws-sdk/client-elastic-load-balancing";
import {
  DescribeLoadBalancersCommand,
  DescribeTargetGroupsCommand,
  DescribeTargetHealthCommand,
} from "@aws-sdk/client-elastic-load-balancing-v2";
import { Cluster } from "#config/cluster.ts";
import type { ObjectReport } from "#core/report.ts";
import { serviceWatch } from "#core/service/watch.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import { serviceController } from "#functions/parts/service-controller.ts";
import { connect } from "#kube/client/connect.ts";
import { getConnectOptions } from "#test/access.ts";
import { createAwsWithoutWaits } from "#test/clouds/aws/aws-without-waits.ts";
import { type Clients, createClients, REGION } from "#test/clouds/aws/moto/clients.ts";
import { makeNetwork, type Network } from "#test/clouds/aws/moto/make-network.ts";
import { type MendedMoto, startMendedMoto } from "#test/clouds/aws/moto/start-mended-moto.ts";
import type { Stored } from "#test/functions/services/services-under-test.ts";
import type { MotoProgram } from "#test/setup/moto-program.ts";

/** Many Services of one cluster on moto and an API server, which one event is about. */
export interface AwsBatch {
  readonly moto: MendedMoto;
  readonly aws: Clients;
  readonly network: Network;
  node(name: string, instance: string, labels: Readonly<Record<string, string>>): Promise<unknown>;
  create(name: string, annotations: Readonly<Record<string, string>>, spec?: object): Promise<Stored>;
  read(name: string): Promise<Stored>;
  /** One process, one event about these Services, in a cluster with these keys of its entry. */
  invoke(names: readonly string[], cloud: object, entry?: object): Promise<readonly ObjectReport[]>;
  /** The messages of the Warnings on a Service. */
  warnings(name: string): Promise<readonly string[]>;
  /** What there is of a Service in the account: ids and descriptions of rules. */
  left(service: Stored): Promise<readonly string[]>;
  /** The instances that its load balancer sends to, each once. */
  targets(service: Stored): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** The value of `<tag>` in `kubernetes.io/cluster/<tag>`. */
export const CLUSTER_TAG = "ours";

const NAMESPACE = "/api/v1/namespaces/default";

interface List {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly unknown[];
}

/** Starts both; the SDK finds the account by the environment. */
export async function startAwsBatch(program: MotoProgram): Promise<AwsBatch> {
  const folder = await mkdtemp(join(tmpdir(), "aws-batch-"));
  const plane = await startEmbeddedControlPlane({ folder });
  const admin = connect(await getConnectOptions(plane, "admin"));
  const functions = connect(await getConnectOptions(plane, "service"));
  const moto = await startMendedMoto(program, { hasPoints: true });
  const aws = createClients(moto.url);
  Object.assign(process.env, {
    AWS_ENDPOINT_URL: moto.url,
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
    AWS_REGION: REGION,
  });
  const network = await makeNetwork(aws.ec2, { clusterTag: CLUSTER_TAG });
  let events = 0;

  const ask = async <Answer>(method: "GET" | "POST", path: string, body?: unknown): Promise<Answer> => {
    const answer = await admin.send({ method, path, ...(body === undefined ? {} : { body }) });
    if (answer.status >= 300)
      throw new Error(`${method} ${path} was answered ${answer.status}: ${answer.body}`);
    return JSON.parse(answer.body) as Answer;
  };
  const read = (name: string): Promise<Stored> => ask("GET", `${NAMESPACE}/services/${name}`);
  const related = async () => {
    const lists = serviceWatch.related.map(async ({ resource, project }) => {
      const { metadata, items } = await ask<List>("GET", `/api/v1/${resource.name}`);
      const projected = items.map(project).filter((item) => item !== undefined);
      return [resource.name, { resourceVersion: metadata.resourceVersion, items: projected }] as const;
    });
    return Object.fromEntries(await Promise.all(lists));
  };

  return {
    ...{ moto, aws, network, read },
    node: (name, instance, labels) =>
      ask("POST", "/api/v1/nodes", {
        ...{ apiVersion: "v1", kind: "Node", metadata: { name, labels } },
        spec: { providerID: `aws:///${REGION}a/${instance}` },
      }),
    create: (name, annotations, spec = {}) =>
      ask("POST", `${NAMESPACE}/services`, {
        ...{ apiVersion: "v1", kind: "Service", metadata: { name, annotations } },
        spec: { type: "LoadBalancer", ports: [{ port: 80 }], ...spec },
      }),
    async invoke(names, cloud, entry = {}) {
      const cluster = Cluster.parse({
        name: "tenant-a",
        server: plane.server,
        cloud: { provider: "aws", region: REGION, vpc: network.vpc, clusterTag: CLUSTER_TAG, ...cloud },
        ...entry,
      });
      const made = createAwsWithoutWaits(cluster);
      try {
        const run = createControllerFunction(serviceController, {
          clusters: async () => cluster,
          cloud: async () => made,
          api: async () => functions,
          now: () => new Date(),
        });
        events += 1;
        const event = {
          ...{ version: 1, id: `event-${events}`, cluster: cluster.name, clusterHash: cluster.hash },
          ...{ controller: serviceController.name, reason: "watch", budget: { share: 1 } },
          objects: await Promise.all(names.map(read)),
          related: await related(),
        };
        const context = { awsRequestId: event.id, getRemainingTimeInMillis: () => 120_000 };
        return (await run(JSON.parse(JSON.stringify(event)), context)).objects;
      } finally {
        await made.close();
      }
    },
    async warnings(name) {
      const { items } = await ask<List>("GET", `${NAMESPACE}/events`);
      return (items as readonly Told[])
        .filter(({ type, involvedObject }) => type === "Warning" && involvedObject.name === name)
        .map(({ reason, message }) => `${reason}: ${message}`);
    },
    async left({ metadata: { name, uid } }) {
      const balancer = `a${uid.replaceAll("-", "")}`.slice(0, 32);
      const [networks, groups, classics, security] = await Promise.all([
        aws.elbv2.send(new DescribeLoadBalancersCommand({})),
        aws.elbv2.send(new DescribeTargetGroupsCommand({})),
        aws.elb.send(new DescribeClassicCommand({})),
        aws.ec2.send(new DescribeSecurityGroupsCommand({})),
      ]);
      const rules = (security.SecurityGroups ?? []).flatMap(({ IpPermissions = [] }) =>
        IpPermissions.flatMap(({ IpRanges = [] }) =>
          IpRanges.flatMap(({ Description }) => Description ?? []),
        ),
      );
      return [
        ...(networks.LoadBalancers ?? []).flatMap((each) => each.LoadBalancerName ?? []),
        ...(classics.LoadBalancerDescriptions ?? []).flatMap((each) => each.LoadBalancerName ?? []),
        ...rules,
        ...(groups.TargetGroups ?? []).flatMap((each) => each.TargetGroupName ?? []),
        ...(security.SecurityGroups ?? []).flatMap(({ GroupName, Tags = [] }) =>
          Tags.some(({ Value }) => Value === `default/${name}`) ? `${balancer} ${GroupName}` : [],
        ),
      ].filter((text) => text.includes(balancer) || text.startsWith(`k8s-default-${name}-`));
    },
    async targets({ metadata: { name, uid } }) {
      const balancer = `a${uid.replaceAll("-", "")}`.slice(0, 32);
      const { LoadBalancerDescriptions = [] } = await aws.elb.send(new DescribeClassicCommand({}));
      const classic = LoadBalancerDescriptions.find((each) => each.LoadBalancerName === balancer);
      const { TargetGroups = [] } = await aws.elbv2.send(new DescribeTargetGroupsCommand({}));
      const groups = TargetGroups.filter((each) => each.TargetGroupName?.startsWith(`k8s-default-${name}-`));
      const healths = await Promise.all(
        groups.map(({ TargetGroupArn }) =>
          aws.elbv2.send(new DescribeTargetHealthCommand({ TargetGroupArn })),
        ),
      );
      const ids = [
        ...(classic?.Instances ?? []).flatMap(({ InstanceId }) => InstanceId ?? []),
        ...healths.flatMap(({ TargetHealthDescriptions = [] }) =>
          TargetHealthDescriptions.flatMap(({ Target }) => Target?.Id ?? []),
        ),
      ];
      return [...new Set(ids)].toSorted();
    },
    async close() {
      aws.close();
      await Promise.all([admin.close(), functions.close()]);
      await Promise.all([moto.close(), plane.close()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface Told {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly involvedObject: { readonly name: string };
}
