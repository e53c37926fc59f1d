import type { Cluster, Clusters } from "#config/cluster.ts";
import type { Because } from "#core/decision.ts";
import type { Event } from "#core/event.ts";
import { messageOf } from "#core/message-of.ts";

/** The event's cluster, or why nothing may be done for it now. */
export type FoundCluster = { readonly kind: "cluster"; readonly cluster: Cluster } | Refused;

export interface Refused {
  readonly kind: "refused";
  readonly because: Because;
  readonly afterSeconds: number;
}

/** Seconds after which a refused event is due again: a configuration that differs is on its way, an unknown one is not. */
const DIFFERS_AFTER_SECONDS = 5;
const UNKNOWN_AFTER_SECONDS = 30;

/**
 * Finds the cluster that the event names and makes sure that sender and function read the same configuration: where the
 * two differ it is read once more, and where they still do, the event is refused.
 */
export async function findCluster(event: Event, clusters: Clusters): Promise<FoundCluster> {
  try {
    const known = await clusters(event.cluster);
    if (known?.hash === event.clusterHash) return { kind: "cluster", cluster: known };
    const fresh = await clusters(event.cluster, { fresh: true });
    if (fresh === undefined) return refused("UnknownCluster", unknown(event), UNKNOWN_AFTER_SECONDS);
    if (fresh.hash === event.clusterHash) return { kind: "cluster", cluster: fresh };
    return refused("ClusterConfigurationDiffers", differs(event, fresh.hash), DIFFERS_AFTER_SECONDS);
  } catch (error) {
    const reason = messageOf(error);
    return refused(
      "ClustersUnreadable",
      `the function's clusters cannot be read: ${reason}`,
      UNKNOWN_AFTER_SECONDS,
    );
  }
}

function refused(code: string, message: string, afterSeconds: number): Refused {
  return { kind: "refused", because: { code, message }, afterSeconds };
}

function unknown(event: Event): string {
  return `the function knows no cluster "${event.cluster}": add it to the file that CLUSTERS_FILE names`;
}

function differs(event: Event, hash: string): string {
  return `cluster "${event.cluster}" hashes to ${hash} for the function and to ${event.clusterHash} for the sender: deploy the same clusters to both`;
}
