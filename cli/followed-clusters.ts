import type { Cluster, Clusters } from "#config/cluster.ts";
import type { Relay } from "#relay/relay.ts";

/** As much of a relay as changes which clusters it follows. */
export type FollowingRelay = Pick<Relay, "add" | "remove" | "setConfigurationFault">;

/** The clusters that a relay follows, for the functions that run beside it: they read the very entries that its events are of. */
export interface FollowedClusters {
  readonly find: Clusters;
  /** One that the relay begins with. */
  add(cluster: Cluster): void;
  /** The same relay, whose clusters are known here. */
  of(relay: FollowingRelay): FollowingRelay;
}

/** Is told of clusters that come, and of those that are followed no longer. */
export interface FollowedClustersListener {
  added(cluster: Cluster): void;
  removed(name: string): Promise<void>;
}

/** Knows no cluster yet. */
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
