/** The identity of the cluster of the fake's droplets. */
export const REGION = "fra1";
export const VPC = "760e09ef-dc84-11e8-981e-3cfdfeaae000";
export const TAG = "k8s-workers";

/** The token that the fake accepts. */
export const TOKEN = "dop_v1_0123456789abcdef";
