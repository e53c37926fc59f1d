import type { Cloud } from "#clouds/cloud.ts";
import type { Cluster } from "#config/cluster.ts";
import type { Controller, Related } from "#core/controller.ts";

/** Whose something in the account is: the cluster's under attack, a cluster's with a hostile API server, or no cluster's at all. */
export type Owner = "victim" | "hostile" | "nobody";

/**
 * An account that two clusters have machines in, and what one controller keeps of nodes there: routes to their pods, or tags on their
 * machines. A cloud that has routes or tags brings one, and plays `nodeResourcesConformance` with it.
 */
export interface NodeResourcesWorld {
  /** The routes or the tagging controller, as it is deployed. */
  readonly controller: Controller;
  /** What of a node comes with its events. */
  readonly related: Related;
  /** The identity that its function signs in to clusters as. */
  readonly signedInAs: "route" | "tagging";
  /** The entry of one of the two clusters. */
  entry(cluster: "victim" | "hostile"): Cluster;
  /** The cluster's cloud as a new process has it. */
  connect(cluster: Cluster): Cloud;
  /** Starts a machine; its provider ID. */
  launch(owner: Owner): Promise<string>;
  /** Somebody gives a machine what looks as if our controller had made it for the victim's cluster: our mark, or a route in its networks. */
  plant(providerID: string): Promise<void>;
  /** Everything there is of machines of this owner, one text each. */
  outline(owner: Owner): Promise<readonly string[]>;
  /** Back to an account without machines. */
  reset(): Promise<void>;
  close(): Promise<void>;
}
