import { RELAY_LEASE, STATE_CONFIG_MAP, SYSTEM_NAMESPACE } from "#core/contracts.ts";
import { KUBELET_SERVING_SIGNER } from "#core/csr/csr.ts";
import { formatUser, type Identity } from "#core/identities.ts";

/** The controllers that are disabled by default, with manifests in a folder of their name in infra/rbac. */
export const OPTIONAL_CONTROLLERS = [
  "csr-approver",
  "service-lb-controller",
  "node-route-controller",
  "tagging",
] as const;
export type OptionalController = (typeof OPTIONAL_CONTROLLERS)[number];

/**
 * The clouds that keep their state in the cluster, with manifests in a folder of their name in infra/rbac.
 */
export const CLOUDS_IN_CLUSTERS = ["keepalived", "kubevip"] as const;
export type CloudInCluster = (typeof CLOUDS_IN_CLUSTERS)[number];

/** One verb on one resource, in the terms of RBAC and of a SelfSubjectAccessReview. */
export interface Right {
  readonly verb: string;
  /** Empty for the core group. */
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  /** Only in this namespace. */
  readonly namespace?: string;
  /** Only for the object with this name. */
  readonly name?: string;
  /** Needed if this controller is enabled, and granted by its own manifests. */
  readonly controller?: OptionalController;
  /** Needed if the cluster's load balancers are this cloud's, and granted by its own manifests. */
  readonly cloud?: CloudInCluster;
  /** Needed if the relay writes instead of the functions, and granted by separate manifests. */
  readonly writes?: "relay";
}

type RightTarget = Omit<Right, "verb">;

const NODES: RightTarget = { group: "", resource: "nodes" };
/** The namespace of Events on cluster-scoped objects. */
const EVENTS: RightTarget = { group: "", resource: "events", namespace: "default" };
const LEASE: RightTarget = {
  group: "coordination.k8s.io",
  resource: "leases",
  namespace: SYSTEM_NAMESPACE,
  name: RELAY_LEASE,
};
const STATE: RightTarget = {
  group: "",
  resource: "configmaps",
  namespace: SYSTEM_NAMESPACE,
  name: STATE_CONFIG_MAP,
};
const REQUESTS: RightTarget = {
  group: "certificates.k8s.io",
  resource: "certificatesigningrequests",
  controller: "csr-approver",
};
const SERVICES: RightTarget = { group: "", resource: "services", controller: "service-lb-controller" };
/** The object that represents the cluster for controllers which work on it as a whole. */
const CLUSTER: RightTarget = { group: "", resource: "namespaces", name: SYSTEM_NAMESPACE };
/** It represents the cluster for the audit of orphaned load balancers, too. */
const SERVED_CLUSTER: RightTarget = { ...CLUSTER, controller: "service-lb-controller" };
/** They are listed before a load balancer loses its last target. */
const SERVED_NODES: RightTarget = { ...NODES, controller: "service-lb-controller" };
const ROUTES = { controller: "node-route-controller" } as const;
/** Events on a namespaced object are in its namespace, and Services are in all namespaces. */
const EVENTS_ANYWHERE: RightTarget = { group: "", resource: "events", controller: "service-lb-controller" };
/** The identities for which a relay writes and sweeps, if functions cannot reach the cluster. */
const STOOD_FOR = ["node", "node-lifecycle", "csr", "sweep"] as const satisfies readonly Identity[];
const TAGGED_NODES: RightTarget = { ...NODES, controller: "tagging" };
const TAGGED_CLUSTER: RightTarget = { ...CLUSTER, controller: "tagging" };

/**
 * A ConfigMap of the cluster's cloud, with the manifests' name; `resolveRight` replaces it with the
 * configured name.
 */
const buildPoolRight = (cloud: CloudInCluster, name: string): RightTarget => ({
  ...{ group: "", resource: "configmaps", namespace: SYSTEM_NAMESPACE, name, cloud },
  controller: "service-lb-controller",
});

/**
 * The exact rights of each identity in a cluster: infra/rbac grants them, `doctor` checks them, and no wider
 * right is used.
 */
export const RIGHTS: Readonly<Record<Identity, readonly Right[]>> = {
  relay: [
    ...buildRights(NODES, "list", "watch"),
    ...buildRights(LEASE, "patch"),
    ...buildRights(REQUESTS, "list", "watch"),
    ...buildRights(SERVICES, "list", "watch"),
    ...buildRights(SERVED_CLUSTER, "list", "watch"),
    ...buildRights({ ...CLUSTER, ...ROUTES }, "list", "watch"),
    ...buildRights(TAGGED_CLUSTER, "list", "watch"),
    ...STOOD_FOR.flatMap((identity) =>
      buildRights(
        { group: "", resource: "users", name: formatUser(identity), writes: "relay" },
        "impersonate",
      ),
    ),
  ],
  node: [
    ...buildRights(NODES, "get", "patch"),
    ...buildRights({ ...NODES, subresource: "status" }, "patch"),
    ...buildRights(EVENTS, "create"),
  ],
  "node-lifecycle": [
    ...buildRights(NODES, "get", "list", "patch", "delete"),
    ...buildRights(EVENTS, "create"),
    ...buildRights(STATE, "get", "update"),
  ],
  csr: [
    ...buildRights(REQUESTS, "get"),
    ...buildRights({ ...REQUESTS, subresource: "approval" }, "patch"),
    ...buildRights({ ...REQUESTS, resource: "signers", name: KUBELET_SERVING_SIGNER }, "approve"),
    ...buildRights({ ...EVENTS, controller: "csr-approver" }, "create"),
  ],
  // The spec of a Service is written only where kube-vip reads an address from it; its status subresource
  // also takes finalizers and annotations. Services are counted before a load balancer counts as an orphan.
  service: [
    ...buildRights(SERVICES, "get", "list"),
    ...buildRights(SERVED_CLUSTER, "get"),
    ...buildRights(SERVED_NODES, "list"),
    ...buildRights({ ...SERVICES, subresource: "status" }, "patch"),
    ...buildRights(EVENTS_ANYWHERE, "create"),
    ...buildRights(buildPoolRight("keepalived", "vip-configmap"), "get", "patch"),
    ...buildRights({ ...SERVICES, cloud: "kubevip" }, "patch"),
    ...buildRights(buildPoolRight("kubevip", "kubevip"), "get"),
  ],
  // On a node only the condition is written, which is part of its status. Nodes are counted before a route is
  // deleted, and listed before a route is taken from a live instance.
  route: [
    ...buildRights({ ...CLUSTER, ...ROUTES }, "get"),
    ...buildRights({ ...NODES, ...ROUTES }, "list"),
    ...buildRights({ ...NODES, ...ROUTES, subresource: "status" }, "patch"),
    ...buildRights({ ...EVENTS, ...ROUTES }, "create"),
  ],
  // Nodes are counted before tags are removed from the instance of a node that is gone.
  tagging: [...buildRights(TAGGED_CLUSTER, "get"), ...buildRights(TAGGED_NODES, "list", "patch")],
  sweep: [
    ...buildRights(NODES, "list"),
    ...buildRights(LEASE, "get"),
    ...buildRights(REQUESTS, "list"),
    ...buildRights(SERVICES, "list"),
    ...buildRights(SERVED_CLUSTER, "list"),
    ...buildRights({ ...CLUSTER, ...ROUTES }, "list"),
    ...buildRights(TAGGED_CLUSTER, "list"),
  ],
  "ec2-events": [...buildRights(NODES, "list")],
};

function buildRights(what: RightTarget, ...names: readonly string[]): Right[] {
  return names.map((verb) => ({ verb, ...what }));
}

/**
 * Returns the right for a cluster's configured cloud: its ConfigMap may have another name than in the
 * manifests.
 */
export function resolveRight(right: Right, cloud: Readonly<Record<string, unknown>>): Right {
  if (right.cloud === undefined || right.resource !== "configmaps") return right;
  const { namespace, configMap } = cloud;
  return { ...right, namespace: String(namespace), name: String(configMap) };
}
