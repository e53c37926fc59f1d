import type { Cluster, Clusters } from "#config/cluster.ts";
import type { Event } from "#core/event.ts";
import type { Reason } from "#core/reason.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";

/** The event's cluster, or why nothing may be done for it now. */
export type FoundCluster = { readonly kind: "cluster"; readonly cluster: Cluster } | Rejection;

export interface Rejection {
  readonly kind: "refused";
  readonly because: Reason;
  readonly afterSeconds: number;
}

/**
 * Seconds until a refused event is retried: a differing configuration may be on its way, an unknown one is
 * not.
 */
const DIFFERS_AFTER_SECONDS = 5;
const UNKNOWN_AFTER_SECONDS = 30;

/**
 * Finds the event's cluster and checks that sender and function read the same configuration. If they differ,
 * it rereads once; if they still differ, it refuses the event.
 */
export async function findCluster(event: Event, clusters: Clusters): Promise<FoundCluster> {
  try {
    const known = await clusters(event.cluster);
    if (known?.hash === event.clusterHash) return { kind: "cluster", cluster: known };
    const fresh = await clusters(event.cluster, { fresh: true });
    if (fresh === undefined)
      return createRejection("UnknownCluster", describeUnknownCluster(event), UNKNOWN_AFTER_SECONDS);
    if (fresh.hash === event.clusterHash) return { kind: "cluster", cluster: fresh };
    return createRejection(
      "ClusterConfigurationDiffers",
      describeHashMismatch(event, fresh.hash),
      DIFFERS_AFTER_SECONDS,
    );
  } catch (error) {
    const reason = getErrorMessage(error);
    return createRejection(
      "ClustersUnreadable",
      `the function's clusters cannot be read: ${reason}`,
      UNKNOWN_AFTER_SECONDS,
    );
  }
}

function createRejection(code: string, message: string, afterSeconds: number): Rejection {
  return { kind: "refused", because: { code, message }, afterSeconds };
}

function describeUnknownCluster(event: Event): string {
  return `the function knows no cluster "${event.cluster}": add it to the file that CLUSTERS_FILE names`;
}

function describeHashMismatch(event: Event, hash: string): string {
  return `cluster "${event.cluster}" hashes to ${hash} for the function and to ${event.clusterHash} for the sender: deploy the same clusters to both`;
}
