/**
 * The tag that an audit gives what has no Service any more, where the operator has such things deleted: since when, and when its turn comes.
 * Whoever keeps a load balancer for a Service that lives takes it off.
 */
export const ORPHANED_TAG = "serverless-ccm.io/orphaned";
