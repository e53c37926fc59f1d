import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { buildAwsEnvironment } from "#bench/contenders/process-contender.ts";
import { aws } from "#clouds/aws/provider.ts";
import { Cluster } from "#config/cluster.ts";
import type { Event } from "#core/event.ts";
import { Node } from "#core/node/node.ts";
import { projectNode } from "#core/node/snapshot.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import { startEc2 } from "#emulators/ec2/server.ts";
import { buildClusterEntry, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import { connect } from "#kube/client/connect.ts";
import { getConnectOptions } from "#test/access.ts";

/** A cluster and its cloud, both in this process and without added latency. */
export interface ColdStartStage {
  /** The environment of a function's process. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Builds an event of one node that has just joined. */
  eventOfNewNode(): Promise<Event>;
  close(): Promise<void>;
}

/** Sets the stage in an existing folder, which the caller removes. */
export async function setColdStartStage(folder: string): Promise<ColdStartStage> {
  const plane = await startEmbeddedControlPlane({ folder: join(folder, "control-plane") });
  const ec2 = await startEc2({ behaviour: { quotas: "off" } });
  const admin = connect(await getConnectOptions(plane, "admin"));
  const entry = buildClusterEntry(plane, {
    name: "bench",
    cloud: { provider: "aws", region: ec2.region, vpc: DEFAULT_VPC_ID },
  });
  const clustersFile = join(folder, "clusters.yaml");
  await writeClustersFile(clustersFile, entry);
  const cluster = Cluster.parse(entry);
  return {
    environment: { ...buildAwsEnvironment(ec2.url, ec2.region), CLUSTERS_FILE: clustersFile },
    async eventOfNewNode() {
      const { id, availabilityZone, privateDnsName: name } = ec2.addInstance();
      const body = buildJoiningNode({ name, providerID: `aws:///${availabilityZone}/${id}` });
      const answer = await admin.send({ method: "POST", path: "/api/v1/nodes", body });
      if (answer.status !== 201)
        throw new Error(`registering ${name} was answered ${answer.status}: ${answer.body}`);
      return {
        version: 1,
        id: randomUUID(),
        cluster: cluster.name,
        clusterHash: cluster.hash,
        controller: "cloud-node-controller",
        reason: "watch",
        objects: [projectNode(Node.parse(JSON.parse(answer.body)), aws.labelPrefixes)],
        budget: { share: 1 },
      };
    },
    async close() {
      await admin.close();
      await Promise.all([ec2.close(), plane.close()]);
    },
  };
}
