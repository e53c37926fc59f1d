import type { Cloud } from "#clouds/cloud.ts";
import { loadCloud } from "#clouds/providers.ts";
import type { Cluster } from "#config/cluster.ts";
import type { SignInRole } from "#config/sign-in/error.ts";
import { createClusterObjects } from "#functions/parts/cluster-objects.ts";
import type { Transport } from "#kube/client/transport.ts";
import { type Clock, systemClock } from "#kube/follow/clock.ts";

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
  const loadCloud = createCloudLoader();
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

/**
 * Creates a loader for a process that holds the clouds of several clusters. Where a provider can, clusters of
 * one account share reads; the others load as in any process. A deployed function has nothing to share, as its
 * environment handles one invocation at a time.
 */
function createCloudLoader(): typeof loadCloud {
  let aws: ReturnType<typeof importAws> | undefined;
  return async (config, options = {}) => {
    if (config.provider !== "aws") return loadCloud(config, options);
    aws ??= importAws();
    return (await aws)(config, options);
  };
}

async function importAws() {
  const { createSharingLoader } = await import("#clouds/aws/shared-reads/sharing-loader.ts");
  return createSharingLoader();
}

/**
 * Caches what is created once for a cluster, such as a connection. It holds at most one value for each
 * cluster and key.
 */
export interface ClusterCache<Value> {
  /**
   * Returns the cluster's value under the key, created if its current entry has none. A failed creation is
   * not cached.
   */
  get(cluster: Cluster, key: string, make: () => Promise<Value>): Promise<Value>;
  /** Discards all values of a cluster, even if they are in use. */
  forget(name: string): Promise<void>;
  /** Discards all values. */
  close(): Promise<void>;
}

interface ClusterCacheOptions<Value> {
  readonly discard: (value: Value) => Promise<void>;
  /** A value that was not requested for this long is discarded; longer than any caller uses it. */
  readonly idleMs: number;
  readonly clock?: Clock;
}

interface CacheEntry<Value> {
  readonly value: Promise<Value>;
  usedMs: number;
}

/**
 * Creates a cache for the clusters of a process. A function has one invocation at a time, but here values may
 * be in use: none is discarded because there are too many. Idle ones expire.
 */
export function createKeptPerCluster<Value>(options: ClusterCacheOptions<Value>): ClusterCache<Value> {
  const { idleMs, clock = systemClock } = options;
  const byCluster = new Map<string, Map<string, CacheEntry<Value>>>();
  let cancel: (() => void) | undefined;

  async function discard({ value }: CacheEntry<Value>): Promise<void> {
    // A value that cannot be created, or closed any more, is already gone.
    await value.then(options.discard).catch(() => undefined);
  }

  function look(): void {
    const oldestMs = clock.now() - idleMs;
    for (const [name, kept] of byCluster) {
      for (const [key, each] of kept) {
        if (each.usedMs > oldestMs) continue;
        kept.delete(key);
        void discard(each);
      }
      if (kept.size === 0) byCluster.delete(name);
    }
    cancel = byCluster.size === 0 ? undefined : clock.after(idleMs / 2, look);
  }

  return {
    get(cluster, name, make) {
      // A changed entry may mean another server or another identity.
      const key = `${cluster.hash} ${name}`;
      const kept = byCluster.get(cluster.name) ?? new Map<string, CacheEntry<Value>>();
      byCluster.set(cluster.name, kept);
      cancel ??= clock.after(idleMs / 2, look);
      const known = kept.get(key);
      if (known !== undefined) {
        known.usedMs = clock.now();
        return known.value;
      }
      const made = { value: make(), usedMs: clock.now() };
      kept.set(key, made);
      made.value.catch(() => {
        if (kept.get(key) === made) kept.delete(key);
      });
      return made.value;
    },
    async forget(name) {
      const kept = byCluster.get(name);
      byCluster.delete(name);
      await Promise.all([...(kept?.values() ?? [])].map(discard));
    },
    async close() {
      cancel?.();
      const all = [...byCluster.values()].flatMap((kept) => [...kept.values()]);
      byCluster.clear();
      await Promise.all(all.map(discard));
    },
  };
}
