import type { Cloud } from "#clouds/cloud.ts";
import { loadCloud } from "#clouds/load.ts";
import type { Cluster, Clusters } from "#core/cluster.ts";
import { logToStandardOutput } from "#functions/middleware/log-report.ts";
import { createBoundedCache } from "#functions/world/bounded-cache.ts";
import type { World } from "#functions/world/world.ts";
import { readClustersFile } from "#kube/clusters-file.ts";
import { connect } from "#kube/connect.ts";
import { signIn } from "#kube/sign-in.ts";
import type { Transport } from "#kube/transport.ts";

/** Clusters for which a warm function keeps a connection, and configurations for which it keeps a cloud. */
const MAX_KEPT = 32;

/** The world of a deployed function: clusters from the file that CLUSTERS_FILE names, and what a warm function keeps. */
export function lambdaWorld(environment: Readonly<Record<string, string | undefined>>): World {
  const clouds = createBoundedCache<Cloud>(MAX_KEPT, (cloud) => cloud.close());
  const transports = createBoundedCache<Transport>(MAX_KEPT, (transport) => transport.close());
  return {
    clusters: clustersOf(environment["CLUSTERS_FILE"]),
    cloud: ({ name, cloud }) =>
      clouds.get(JSON.stringify([name, cloud]), () => loadCloud(cloud, { clusterName: name })),
    api: (cluster) => transports.get(signInKey(cluster), () => connectTo(cluster)),
    now: () => new Date(),
    log: logToStandardOutput,
  };
}

function clustersOf(file: string | undefined): Clusters {
  if (file !== undefined) return readClustersFile(file);
  return () => Promise.reject(new Error("CLUSTERS_FILE is not set: it names the YAML file of clusters"));
}

async function connectTo(cluster: Cluster): Promise<Transport> {
  return connect({ server: cluster.server, ...(await signIn(cluster, "functions")) });
}

function signInKey({ name, server, certificateAuthorityFile, signIn: { functions } }: Cluster): string {
  return JSON.stringify([name, server, certificateAuthorityFile, functions]);
}
