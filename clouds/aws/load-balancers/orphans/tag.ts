/**
 * The tag with which an audit marks resources without a Service, if the operator has orphans deleted: since
 * when, and when they are deleted. A load balancer that is kept for an existing Service loses it.
 */
export const ORPHANED_TAG = "serverless-ccm.io/orphaned";
