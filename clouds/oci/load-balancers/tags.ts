/** The free-form tag by which a resource is known to be of a cluster: its name. Keys of tags hold no dots. */
export const CLUSTER_TAG = "serverless-ccm-cluster";

/** The free-form tag of a load balancer that says for which Service it is: namespace and name. */
export const SERVICE_TAG = "serverless-ccm-service";

/** The free-form tags of a managed network security group, as the stock controller writes them. */
export const CREATED_BY_TAG = "CreatedBy";
export const CREATED_BY = "CCM";
export const SERVICE_UID_TAG = "ServiceUid";

/**
 * The free-form tag that an audit gives what has no Service any more, where the operator has such things deleted: since when, and when its
 * turn comes. Whoever keeps a load balancer for a Service that lives takes it off.
 */
export const ORPHANED_TAG = "serverless-ccm-orphaned";

/** Whether a free-form tag's key is one that only controllers give. */
export function isReservedKey(key: string): boolean {
  const lower = key.toLowerCase();
  return lower === "createdby" || lower === "serviceuid" || lower.startsWith("serverless-ccm");
}

/** Whether tags say that a resource is of this cluster. */
export function isOfCluster(tags: Readonly<Record<string, string>> | undefined, cluster: string): boolean {
  return tags?.[CLUSTER_TAG] === cluster;
}
