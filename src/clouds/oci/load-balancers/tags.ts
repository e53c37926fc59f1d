/** The free-form tag with the cluster's name, which marks its resources. Keys of tags cannot contain dots. */
export const CLUSTER_TAG = "serverless-ccm-cluster";

/** The free-form tag with a load balancer's Service: namespace and name. */
export const SERVICE_TAG = "serverless-ccm-service";

/** The free-form tags of a managed network security group, as the stock controller writes them. */
export const CREATED_BY_TAG = "CreatedBy";
export const CREATED_BY = "CCM";
export const SERVICE_UID_TAG = "ServiceUid";

/**
 * The free-form tag with which an audit marks resources without a Service, if the operator has orphans
 * deleted: since when, and when they are deleted. A load balancer that is kept for an existing Service loses
 * it.
 */
export const ORPHANED_TAG = "serverless-ccm-orphaned";

/** Whether only controllers set a free-form tag's key. */
export function isReservedKey(key: string): boolean {
  const lower = key.toLowerCase();
  return lower === "createdby" || lower === "serviceuid" || lower.startsWith("serverless-ccm");
}

/** Whether tags assign a resource to this cluster. */
export function isOfCluster(tags: Readonly<Record<string, string>> | undefined, cluster: string): boolean {
  return tags?.[CLUSTER_TAG] === cluster;
}
