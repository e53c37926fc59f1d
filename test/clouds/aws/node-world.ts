import {
  CreateRouteCommand,
  CreateTagsCommand,
  DeleteTagsCommand,
  DescribeInstancesCommand,
  DescribeRouteTablesCommand,
  type Instance,
  type Tag,
} from "@aws-sdk/client-ec2";
import { vi } from "vitest";
import { createAwsCloud } from "#clouds/aws/cloud.ts";
import { AwsCloudConfig } from "#clouds/aws/config.ts";
import { awsTags } from "#clouds/aws/tags/model.ts";
import { Cluster } from "#config/cluster.ts";
import type { Controller } from "#core/controller.ts";
import { routeController } from "#core/route/controller.ts";
import { routeNodes } from "#core/route/related-node.ts";
import { relatedNodes } from "#core/tagging/tagged-node.ts";
import { createClients, REGION } from "#test/clouds/aws/moto/clients.ts";
import { makeNetwork, type Network } from "#test/clouds/aws/moto/make-network.ts";
import { startMendedMoto } from "#test/clouds/aws/moto/start-mended-moto.ts";
import type { NodeResourcesWorld, Owner } from "#test/clouds/node-resources/world.ts";
import { taggingController } from "#test/functions/tagging/controller.ts";
import type { MotoProgram } from "#test/setup/moto-program.ts";

/** The subject of the world. */
export type AwsNodeResource = "routes" | "tags";

const NETWORK = "100.64.0.0/16";
const PLANTED = "100.64.200.0/24";
const keyOf = (owner: Owner): string => `kubernetes.io/cluster/${owner}`;

/**
 * Creates two clusters in one VPC of moto: with one route table for both, or with tags on their instances.
 */
export async function createAwsNodeWorld(
  program: MotoProgram,
  resource: AwsNodeResource,
): Promise<NodeResourcesWorld> {
  const moto = await startMendedMoto(program);
  const environment = {
    AWS_ENDPOINT_URL: moto.url,
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
  };
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  const { ec2, close } = createClients(moto.url);
  const isRoutes = resource === "routes";
  let network: Network;

  async function begin(): Promise<void> {
    network = await makeNetwork(ec2, { clusterTag: "victim" });
  }
  /** By their configuration, the route table belongs to both clusters. */
  const cloudOf = (cluster: string) => ({
    ...{ provider: "aws", region: REGION, vpc: network.vpc, clusterTag: cluster },
    ...(isRoutes ? { routeTableIDs: [network.routeTable] } : {}),
  });
  const entry = (cluster: string): Cluster =>
    Cluster.parse({
      ...{ name: cluster, server: "https://127.0.0.1", cloud: cloudOf(cluster) },
      controllers: [isRoutes ? routeController.name : taggingController.name],
      ...(isRoutes ? { routes: { clusterCIDRs: [NETWORK] } } : { tagging: { tags: { team: cluster } } }),
    });
  const tag = (id: string, Tags: Tag[]) => ec2.send(new CreateTagsCommand({ Resources: [id], Tags }));
  const idOf = (providerID: string): string => providerID.split("/").at(-1) ?? "";
  const instancesOf = async (owner: Owner): Promise<readonly Instance[]> => {
    const { Reservations = [] } = await ec2.send(new DescribeInstancesCommand({}));
    return Reservations.flatMap(({ Instances = [] }) => Instances).filter(({ Tags = [] }) =>
      Tags.some(({ Key, Value }) => Key === "owner" && Value === owner),
    );
  };

  await begin();
  return {
    controller: (isRoutes ? routeController : taggingController) as unknown as Controller,
    related: isRoutes ? routeNodes : relatedNodes,
    signedInAs: isRoutes ? "route" : "tagging",
    entry,
    connect: ({ cloud, name }) => createAwsCloud(AwsCloudConfig.parse(cloud), { clusterName: name }),
    async launch(owner) {
      const [id = ""] = await network.launch(1);
      await tag(id, [{ Key: "owner", Value: owner }]);
      if (owner !== "victim")
        await ec2.send(new DeleteTagsCommand({ Resources: [id], Tags: [{ Key: keyOf("victim") }] }));
      if (owner === "hostile") await tag(id, [{ Key: keyOf("hostile"), Value: "owned" }]);
      return `aws:///${REGION}a/${id}`;
    },
    async plant(providerID) {
      const victim = entry("victim");
      const marked = awsTags.marked(victim.tagging.tags, { ...victim, cluster: "victim" });
      if (isRoutes)
        await ec2.send(
          new CreateRouteCommand({
            ...{ RouteTableId: network.routeTable, DestinationCidrBlock: PLANTED },
            InstanceId: idOf(providerID),
          }),
        );
      else
        await tag(
          idOf(providerID),
          Object.entries(marked).map(([Key, Value]) => ({ Key, Value })),
        );
    },
    async outline(owner) {
      const instances = await instancesOf(owner);
      const tables = await ec2.send(new DescribeRouteTablesCommand({ RouteTableIds: [network.routeTable] }));
      const routes = tables.RouteTables?.[0]?.Routes ?? [];
      return [
        ...instances.map(({ InstanceId, Tags = [], NetworkInterfaces = [] }) => {
          const tags = Tags.map(({ Key, Value }) => `${Key}=${Value}`).toSorted();
          return `${InstanceId} ${tags.join(" ")} checks ${NetworkInterfaces.map((each) => each.SourceDestCheck)}`;
        }),
        ...routes
          .filter(({ InstanceId }) => instances.some((each) => each.InstanceId === InstanceId))
          .map(({ DestinationCidrBlock, InstanceId }) => `route ${DestinationCidrBlock} to ${InstanceId}`),
      ].toSorted();
    },
    async reset() {
      await moto.reset();
      await begin();
    },
    async close() {
      close();
      vi.unstubAllEnvs();
      await moto.close();
    },
  };
}
