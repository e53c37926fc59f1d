import type { Cloud } from "#clouds/cloud.ts";
import { loadCloud } from "#clouds/providers.ts";
import type { Cluster } from "#config/cluster.ts";
import type { SignInRole } from "#config/sign-in/error.ts";
import { createClusterObjects } from "#functions/parts/cluster-objects.ts";
import {
  type CacheLimits,
  createBoundedCache,
  createConnectionCache,
} from "#functions/parts/connection-cache.ts";
import type { Dependencies } from "#functions/parts/dependencies.ts";
import { openDeployedClusters } from "#functions/parts/deployed-clusters.ts";
import { logToStandardOutput } from "#functions/parts/log-report.ts";
import { openStopReader } from "#functions/parts/read-stop.ts";

/** Cached connections and clouds of a warm function, which runs one invocation at a time. */
const CACHE: CacheLimits = { most: 32 };

/** The dependencies of a deployed function. */
export interface DeployedDependencies extends Dependencies {
  /**
   * Reads the clusters and loads their clouds without sending anything, so that the first event does not wait
   * if the platform initializes ahead. A failure recurs at the first event and is reported there.
   */
  prepare(): Promise<void>;
}

/**
 * Creates the dependencies of a deployed function: clusters from CLUSTERS_FILE, sign-in with the function's
 * role (`getSignInRole`), the AWS role in SESSION_ROLE_ARN, and caches for warm starts.
 */
export function createDeployedDependencies(
  role: SignInRole,
  environment: Readonly<Record<string, string | undefined>>,
  cache = CACHE,
): DeployedDependencies {
  const clouds = createBoundedCache<Cloud>(cache, (cloud) => cloud.close());
  const { clusters, judgeAddress } = openDeployedClusters(environment);
  const readStop = openStopReader(environment);
  const sessionRoleArn = environment["SESSION_ROLE_ARN"] || undefined;
  const api = createConnectionCache({ role, ...cache, answersAlone: true, judgeAddress });
  // A cloud reads its cluster by the current entry, which may have changed.
  const cloudOf = (cluster: Cluster): Promise<Cloud> => {
    const { name, cloud, hash } = cluster;
    const objects = createClusterObjects(() => api(cluster));
    return clouds.get(JSON.stringify([name, cloud, hash]), () =>
      loadCloud(cloud, { clusterName: name, objects, functionName: role, sessionRoleArn }),
    );
  };
  return {
    clusters,
    cloud: cloudOf,
    api,
    now: () => new Date(),
    ...(readStop === undefined ? {} : { readStop: readStop }),
    log: logToStandardOutput,
    async prepare() {
      const all = await clusters.ahead().catch(() => []);
      await Promise.allSettled(selectOnePerProvider(all).map(cloudOf));
    },
  };
}

/** Loading a provider's code takes time; a further cluster of the same cloud takes none. */
function selectOnePerProvider(clusters: readonly Cluster[]): Cluster[] {
  return [...new Map(clusters.map((cluster) => [cluster.cloud.provider, cluster])).values()];
}
