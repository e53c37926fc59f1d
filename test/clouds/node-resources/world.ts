import type { Cloud } from "#clouds/cloud.ts";
import type { Cluster } from "#config/cluster.ts";
import type { Controller } from "#core/controller.ts";
import type { Related } from "#core/watch.ts";

/**
 * The owner of a resource in the account: the cluster under attack, the cluster with a hostile API server, or
 * no cluster.
 */
export type Owner = "victim" | "hostile" | "no cluster";

/**
 * An account with machines of two clusters, and one controller's node resources: routes to pods, or tags on
 * machines. A cloud with routes or tags has a world, and runs `testNodeResourcesConformance` with it.
 */
export interface NodeResourcesWorld {
  /** The routes or the tagging controller, as deployed. */
  readonly controller: Controller;
  /** The related objects of a node's events. */
  readonly related: Related;
  /** The identity of its function in clusters. */
  readonly signedInAs: "route" | "tagging";
  /** Returns the entry of one of the two clusters. */
  entry(cluster: "victim" | "hostile"): Cluster;
  /** Returns the cluster's cloud in a new process. */
  connect(cluster: Cluster): Cloud;
  /** Starts a machine; returns its provider ID. */
  launch(owner: Owner): Promise<string>;
  /**
   * Gives a machine what looks like our controller's work for the victim's cluster: our mark, or a route in
   * its networks.
   */
  plant(providerID: string): Promise<void>;
  /** Returns everything about machines of this owner, one text each. */
  outline(owner: Owner): Promise<readonly string[]>;
  /** Returns to an account without machines. */
  reset(): Promise<void>;
  close(): Promise<void>;
}
