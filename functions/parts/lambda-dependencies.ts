import type { Cloud } from "#clouds/cloud.ts";
import { loadCloud } from "#clouds/kinds.ts";
import type { Cluster } from "#config/cluster.ts";
import type { SignInRole } from "#config/sign-in.ts";
import { createBoundedCache } from "#functions/parts/bounded-cache.ts";
import { clusterObjects } from "#functions/parts/cluster-objects.ts";
import { clustersOfHome } from "#functions/parts/clusters-of-home.ts";
import type { Dependencies } from "#functions/parts/dependencies.ts";
import { keptConnections } from "#functions/parts/kept-connections.ts";
import { logToStandardOutput } from "#functions/parts/log-report.ts";
import { stopLookOf } from "#functions/parts/stop-look-of.ts";

/** Clusters for which a warm function keeps a connection, and configurations for which it keeps a cloud. */
const MAX_KEPT = 32;

/** The dependencies of a function that has been deployed. */
export interface LambdaDependencies extends Dependencies {
  /**
   * Reads the clusters and loads their clouds, sending nothing: the first event then need not wait for it where the platform
   * initializes functions ahead of events. What fails will fail again at the first event, and be reported there.
   */
  prepare(): Promise<void>;
}

/**
 * The dependencies of a deployed function: clusters from the file that CLUSTERS_FILE names, what it signs in with there as the
 * function that it is (`signInRoleOf`), the role of AWS that SESSION_ROLE_ARN names, and what a warm function keeps.
 */
export function lambdaDependencies(
  role: SignInRole,
  environment: Readonly<Record<string, string | undefined>>,
): LambdaDependencies {
  const clouds = createBoundedCache<Cloud>(MAX_KEPT, (cloud) => cloud.close());
  const { clusters, judgeAddress } = clustersOfHome(environment);
  const stopOf = stopLookOf(environment);
  const sessionRoleArn = environment["SESSION_ROLE_ARN"] || undefined;
  const api = keptConnections({ role, most: MAX_KEPT, answersAlone: true, judgeAddress });
  // What a cloud reads in its cluster it reads as its entry says, which may be another one by now.
  const cloudOf = (cluster: Cluster): Promise<Cloud> => {
    const { name, cloud, hash } = cluster;
    const objects = clusterObjects(() => api(cluster));
    return clouds.get(JSON.stringify([name, cloud, hash]), () =>
      loadCloud(cloud, { clusterName: name, objects, functionName: role, sessionRoleArn }),
    );
  };
  return {
    clusters,
    cloud: cloudOf,
    api,
    now: () => new Date(),
    ...(stopOf === undefined ? {} : { stopOf }),
    log: logToStandardOutput,
    async prepare() {
      const all = await clusters.ahead().catch(() => []);
      await Promise.allSettled(oneOfEachProvider(all).map(cloudOf));
    },
  };
}

/** What takes time is a provider's code; the cloud of one cluster more takes none. */
function oneOfEachProvider(clusters: readonly Cluster[]): Cluster[] {
  return [...new Map(clusters.map((cluster) => [cluster.cloud.provider, cluster])).values()];
}
