import { RELAY_LEASE, SYSTEM_NAMESPACE } from "#core/contracts.ts";
import { OPERATED_CONTROLLERS } from "#core/controllers.ts";
import { buildRights, NODE_OBJECTS, type Right, type RightTarget } from "#core/descriptor.ts";
import type { ControllerFunctionName } from "#core/descriptors.ts";
import { type FunctionIdentity, formatUser, type Identity } from "#core/identities.ts";
import { WRITABLE_BY_RELAY } from "#core/relay-lease.ts";

/**
 * The clouds that keep their state in the cluster, with manifests in a folder of their name in infra/rbac.
 */
export const CLOUDS_IN_CLUSTERS = ["keepalived", "kubevip"] as const;

const LEASE: RightTarget = {
  group: "coordination.k8s.io",
  resource: "leases",
  namespace: SYSTEM_NAMESPACE,
  name: RELAY_LEASE,
};

const FOLLOWED = OPERATED_CONTROLLERS.flatMap(({ rights }) => rights.followed);

const ANNOUNCING = OPERATED_CONTROLLERS.flatMap(({ rights }) => rights.announcing ?? []);

const OF_FUNCTIONS = Object.fromEntries(
  OPERATED_CONTROLLERS.map(({ functionName, rights }) => [functionName, rights.granted]),
) as Readonly<Record<ControllerFunctionName, readonly Right[]>>;

/** The identities for which a relay writes and sweeps, if functions cannot reach the cluster. */
const IMPERSONATED: readonly FunctionIdentity[] = [
  ...OPERATED_CONTROLLERS.filter(({ name }) => WRITABLE_BY_RELAY.includes(name)).map(
    ({ functionName }) => functionName,
  ),
  "sweep",
];

/**
 * The exact rights of each identity in a cluster: infra/rbac grants them, `doctor` checks them, and no wider
 * right is used.
 */
export const RIGHTS: Readonly<Record<Identity, readonly Right[]>> = {
  relay: [
    ...buildRights(NODE_OBJECTS, "list", "watch"),
    ...buildRights(LEASE, "patch"),
    ...[...FOLLOWED, ...ANNOUNCING].flatMap((target) => buildRights(target, "list", "watch")),
    ...IMPERSONATED.flatMap((identity) =>
      buildRights(
        { group: "", resource: "users", name: formatUser(identity), writes: "relay" },
        "impersonate",
      ),
    ),
  ],
  ...OF_FUNCTIONS,
  sweep: [
    ...buildRights(NODE_OBJECTS, "list"),
    ...buildRights(LEASE, "get"),
    ...FOLLOWED.flatMap((target) => buildRights(target, "list")),
  ],
  "ec2-events": [...buildRights(NODE_OBJECTS, "list")],
  // It reads single objects as lists of one.
  audit: [...buildRights(NODE_OBJECTS, "list"), ...FOLLOWED.flatMap((target) => buildRights(target, "list"))],
};

/**
 * Returns the right for a cluster's configured cloud: its ConfigMap may have another name than in the
 * manifests.
 */
export function resolveRight(right: Right, cloud: Readonly<Record<string, unknown>>): Right {
  if (right.cloud === undefined || right.resource !== "configmaps") return right;
  const { namespace, configMap } = cloud;
  return { ...right, namespace: String(namespace), name: String(configMap) };
}
