import { createKeptPerCluster } from "#cli/kept-per-cluster.ts";
import type { Cloud } from "#clouds/cloud.ts";
import { loadCloud } from "#clouds/kinds.ts";
import type { Cluster } from "#config/cluster.ts";
import type { SignInRole } from "#config/sign-in.ts";
import { clusterObjects } from "#functions/parts/cluster-objects.ts";
import type { Transport } from "#kube/client/transport.ts";

/** What functions that run in this process use of clusters: of each its API server, as who they are, and its cloud. */
export interface KeptForFunctions {
  api(cluster: Cluster, role: SignInRole): Promise<Transport>;
  cloud(cluster: Cluster): Promise<Cloud>;
  /** Closes what there is of a cluster. */
  forget(name: string): Promise<void>;
  close(): Promise<void>;
}

/** An invocation has 30 s, and a sweep two minutes: whatever was asked for earlier is in nobody's hands. */
const IDLE_MS = 5 * 60_000;

/** A cloud remembers what it was told; it is kept over some looks at all nodes, which are five minutes apart. */
const IDLE_CLOUD_MS = 30 * 60_000;

/** Makes each when it is first asked for, and keeps it for as long as it is in use; `connect` rejects where nobody can sign in. */
export function keepForFunctions(
  connect: (cluster: Cluster, role: SignInRole) => Promise<Transport>,
): KeptForFunctions {
  const transports = createKeptPerCluster<Transport>({
    idleMs: IDLE_MS,
    discard: (transport) => transport.close(),
  });
  const clouds = createKeptPerCluster<Cloud>({ idleMs: IDLE_CLOUD_MS, discard: (cloud) => cloud.close() });
  const both = [transports, clouds];
  const api: KeptForFunctions["api"] = (cluster, role) =>
    transports.get(cluster, role, () => connect(cluster, role));
  return {
    api,
    cloud: (cluster) =>
      clouds.get(cluster, "", () => {
        // All functions have one cloud, and what it keeps in the cluster is the service function's.
        const objects = clusterObjects(() => api(cluster, "service"));
        return loadCloud(cluster.cloud, { clusterName: cluster.name, objects });
      }),
    forget: async (name) => void (await Promise.all(both.map((kept) => kept.forget(name)))),
    close: async () => void (await Promise.all(both.map((kept) => kept.close()))),
  };
}
