import type { Cluster, Clusters } from "#config/cluster.ts";
import type { Relay } from "#relay/relay.ts";

/** The methods of a relay that change which clusters it follows. */
export type FollowingRelay = Pick<Relay, "add" | "remove" | "setConfigurationFault">;

/**
 * The clusters that a relay follows, for functions in the same process: they read the same entries as its
 * events.
 */
export interface FollowedClusters {
  readonly find: Clusters;
  /** Adds a cluster with which the relay starts. */
  add(cluster: Cluster): void;
  /** Wraps a relay so that this object knows its clusters. */
  of(relay: FollowingRelay): FollowingRelay;
}

/** Is notified of new clusters, and of those that are not followed any more. */
export interface FollowedClustersListener {
  added(cluster: Cluster): void;
  removed(name: string): Promise<void>;
}

/** Creates an empty set of clusters. */
export function createFollowedClusters(listener: FollowedClustersListener): FollowedClusters {
  const clusters = new Map<string, Cluster>();

  function add(cluster: Cluster): void {
    clusters.set(cluster.name, cluster);
    listener.added(cluster);
  }

  return {
    find: async (name) => clusters.get(name),
    add,
    of: (relay) => ({
      add(one) {
        relay.add(one);
        add(one.cluster);
      },
      async remove(name, signal) {
        await relay.remove(name, signal);
        clusters.delete(name);
        await listener.removed(name);
      },
      setConfigurationFault: (name, fault) => relay.setConfigurationFault(name, fault),
    }),
  };
}
