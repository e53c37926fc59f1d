/**
 * The functions that sign in to a cluster, each as its own user: the user that deletes is not the one that
 * initializes.
 */
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

/** All our identities that sign in to a cluster. */
export const IDENTITIES = ["relay", ...FUNCTION_IDENTITIES] as const;
export type Identity = (typeof IDENTITIES)[number];

/** Returns the name of an identity's user, and of its ClusterRole in infra/rbac. */
export function formatUser(identity: Identity): string {
  return `serverless-ccm-${identity}`;
}
