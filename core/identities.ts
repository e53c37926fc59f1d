/** The functions that sign in to a cluster, each as a user of its own: what may delete is not what initializes. */
export const FUNCTION_IDENTITIES = [
  "node",
  "node-lifecycle",
  "csr",
  "service",
  "route",
  "tagging",
  "sweep",
  "ec2-events",
] as const;
export type FunctionIdentity = (typeof FUNCTION_IDENTITIES)[number];

/** Everybody of ours who signs in to a cluster. */
export const IDENTITIES = ["relay", ...FUNCTION_IDENTITIES] as const;
export type Identity = (typeof IDENTITIES)[number];

/** The user, and the ClusterRole, of an identity in infra/rbac. */
export function userOf(identity: Identity): string {
  return `serverless-ccm-${identity}`;
}
