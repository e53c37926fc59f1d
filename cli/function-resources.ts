import { createKeptPerCluster } from "#cli/cluster-cache.ts";
import type { Cloud } from "#clouds/cloud.ts";
import { loadCloud } from "#clouds/providers.ts";
import type { Cluster } from "#config/cluster.ts";
import type { SignInRole } from "#config/sign-in/error.ts";
import { createClusterObjects } from "#functions/parts/cluster-objects.ts";
import type { Transport } from "#kube/client/transport.ts";

/**
 * The resources of functions in this process: the API server of each cluster for each identity, and its
 * cloud.
 */
export interface FunctionResources {
  api(cluster: Cluster, role: SignInRole): Promise<Transport>;
  cloud(cluster: Cluster): Promise<Cloud>;
  /** Closes the resources of a cluster. */
  forget(name: string): Promise<void>;
  close(): Promise<void>;
}

/** An invocation has 30 s and a sweep two minutes, so no caller uses a resource that it requested earlier. */
const IDLE_MS = 5 * 60_000;

/** A cloud has caches; it is kept across several refreshes of all nodes, which are five minutes apart. */
const IDLE_CLOUD_MS = 30 * 60_000;

/**
 * Creates each resource at its first request and keeps it while it is in use; `connect` rejects if the
 * identity cannot sign in.
 */
export function keepForFunctions(
  connect: (cluster: Cluster, role: SignInRole) => Promise<Transport>,
): FunctionResources {
  const transports = createKeptPerCluster<Transport>({
    idleMs: IDLE_MS,
    discard: (transport) => transport.close(),
  });
  const clouds = createKeptPerCluster<Cloud>({ idleMs: IDLE_CLOUD_MS, discard: (cloud) => cloud.close() });
  const both = [transports, clouds];
  const api: FunctionResources["api"] = (cluster, role) =>
    transports.get(cluster, role, () => connect(cluster, role));
  return {
    api,
    cloud: (cluster) =>
      clouds.get(cluster, "", () => {
        // All functions share one cloud, and its data in the cluster belong to the service function.
        const objects = createClusterObjects(() => api(cluster, "service"));
        return loadCloud(cluster.cloud, { clusterName: cluster.name, objects });
      }),
    forget: async (name) => void (await Promise.all(both.map((kept) => kept.forget(name)))),
    close: async () => void (await Promise.all(both.map((kept) => kept.close()))),
  };
}
