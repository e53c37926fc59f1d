import { type ControllerFunctionName, DESCRIPTORS } from "#core/descriptors.ts";

/** The functions without a controller that sign in to a cluster. */
const OTHER_FUNCTIONS = ["sweep", "ec2-events", "audit"] as const;

export type FunctionIdentity = ControllerFunctionName | (typeof OTHER_FUNCTIONS)[number];

/**
 * The functions that sign in to a cluster, each as its own user: the user that deletes is not the one that
 * initializes.
 */
export const FUNCTION_IDENTITIES: readonly FunctionIdentity[] = [
  ...DESCRIPTORS.map(({ functionName }) => functionName),
  ...OTHER_FUNCTIONS,
];

export type Identity = "relay" | FunctionIdentity;

/** All our identities that sign in to a cluster. */
export const IDENTITIES: readonly Identity[] = ["relay", ...FUNCTION_IDENTITIES];

/** Returns an object with one member for each name. */
export function mapIdentities<Name extends string, Value>(
  names: readonly Name[],
  build: (name: Name) => Value,
): Readonly<Record<Name, Value>> {
  return Object.fromEntries(names.map((name) => [name, build(name)])) as Record<Name, Value>;
}

/** Returns the name of an identity's user, and of its ClusterRole in infra/rbac. */
export function formatUser(identity: Identity): string {
  return `serverless-ccm-${identity}`;
}
