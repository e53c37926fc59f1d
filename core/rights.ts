import { RELAY_LEASE, STATE_CONFIG_MAP, SYSTEM_NAMESPACE } from "#core/contracts.ts";
import { KUBELET_SERVING_SIGNER } from "#core/csr/csr.ts";
import { type Identity, userOf } from "#core/identities.ts";

/** A controller that is off by default, and has its manifests in a folder of its name in infra/rbac. */
export const OPTIONAL_CONTROLLERS = [
  "csr-approver",
  "service-lb-controller",
  "node-route-controller",
  "tagging",
] as const;
export type OptionalController = (typeof OPTIONAL_CONTROLLERS)[number];

/** A cloud that keeps what it has in the cluster, and has its manifests in a folder of its name in infra/rbac. */
export const CLOUDS_IN_CLUSTERS = ["keepalived", "kubevip"] as const;
export type CloudInCluster = (typeof CLOUDS_IN_CLUSTERS)[number];

/** One verb on one resource, in the words of RBAC and of a SelfSubjectAccessReview. */
export interface Right {
  readonly verb: string;
  /** Empty for the core group. */
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  /** In this namespace alone. */
  readonly namespace?: string;
  /** Of the object of this name alone. */
  readonly name?: string;
  /** Needed where this controller is on, and granted by manifests of its own. */
  readonly controller?: OptionalController;
  /** Needed where the cluster's load balancers are this cloud's, and granted by manifests of its own. */
  readonly cloud?: CloudInCluster;
  /** Needed where the relay writes in the functions' stead, and granted by manifests of its own. */
  readonly writes?: "relay";
}

type What = Omit<Right, "verb">;

const NODES: What = { group: "", resource: "nodes" };
/** Events on what has no namespace stand in this one. */
const EVENTS: What = { group: "", resource: "events", namespace: "default" };
const LEASE: What = {
  group: "coordination.k8s.io",
  resource: "leases",
  namespace: SYSTEM_NAMESPACE,
  name: RELAY_LEASE,
};
const STATE: What = {
  group: "",
  resource: "configmaps",
  namespace: SYSTEM_NAMESPACE,
  name: STATE_CONFIG_MAP,
};
const REQUESTS: What = {
  group: "certificates.k8s.io",
  resource: "certificatesigningrequests",
  controller: "csr-approver",
};
const SERVICES: What = { group: "", resource: "services", controller: "service-lb-controller" };
/** What stands for the cluster where a controller is about all of it. */
const CLUSTER: What = { group: "", resource: "namespaces", name: SYSTEM_NAMESPACE };
/** It stands for the cluster where load balancers are looked for whose Service has gone, too. */
const SERVED_CLUSTER: What = { ...CLUSTER, controller: "service-lb-controller" };
/** They are listed before a load balancer loses its last target. */
const SERVED_NODES: What = { ...NODES, controller: "service-lb-controller" };
const ROUTES = { controller: "node-route-controller" } as const;
/** Events on what has a namespace stand there, and Services are in all of them. */
const EVENTS_ANYWHERE: What = { group: "", resource: "events", controller: "service-lb-controller" };
/** In whose stead a relay writes and sweeps, where functions cannot reach the cluster. */
const STOOD_FOR = ["node", "node-lifecycle", "csr", "sweep"] as const satisfies readonly Identity[];
const TAGGED_NODES: What = { ...NODES, controller: "tagging" };
const TAGGED_CLUSTER: What = { ...CLUSTER, controller: "tagging" };

/** A ConfigMap of the cluster's cloud, by the name that the manifests have: `inCluster` puts the one that the entry names in its place. */
const poolOf = (cloud: CloudInCluster, name: string): What => ({
  ...{ group: "", resource: "configmaps", namespace: SYSTEM_NAMESPACE, name, cloud },
  controller: "service-lb-controller",
});

/** Exactly what each identity needs in a cluster: infra/rbac grants it, `doctor` asks for it, and nothing wider is used. */
export const RIGHTS: Readonly<Record<Identity, readonly Right[]>> = {
  relay: [
    ...verbs(NODES, "list", "watch"),
    ...verbs(LEASE, "patch"),
    ...verbs(REQUESTS, "list", "watch"),
    ...verbs(SERVICES, "list", "watch"),
    ...verbs(SERVED_CLUSTER, "list", "watch"),
    ...verbs({ ...CLUSTER, ...ROUTES }, "list", "watch"),
    ...verbs(TAGGED_CLUSTER, "list", "watch"),
    ...STOOD_FOR.flatMap((identity) =>
      verbs({ group: "", resource: "users", name: userOf(identity), writes: "relay" }, "impersonate"),
    ),
  ],
  node: [
    ...verbs(NODES, "get", "patch"),
    ...verbs({ ...NODES, subresource: "status" }, "patch"),
    ...verbs(EVENTS, "create"),
  ],
  "node-lifecycle": [
    ...verbs(NODES, "get", "list", "patch", "delete"),
    ...verbs(EVENTS, "create"),
    ...verbs(STATE, "get", "update"),
  ],
  csr: [
    ...verbs(REQUESTS, "get"),
    ...verbs({ ...REQUESTS, subresource: "approval" }, "patch"),
    ...verbs({ ...REQUESTS, resource: "signers", name: KUBELET_SERVING_SIGNER }, "approve"),
    ...verbs({ ...EVENTS, controller: "csr-approver" }, "create"),
  ],
  // The spec of a Service is not written but where kube-vip reads an address there; finalizers and annotations are part of what its status
  // takes. Services are counted before a load balancer is taken for one that has none any more.
  service: [
    ...verbs(SERVICES, "get", "list"),
    ...verbs(SERVED_CLUSTER, "get"),
    ...verbs(SERVED_NODES, "list"),
    ...verbs({ ...SERVICES, subresource: "status" }, "patch"),
    ...verbs(EVENTS_ANYWHERE, "create"),
    ...verbs(poolOf("keepalived", "vip-configmap"), "get", "patch"),
    ...verbs({ ...SERVICES, cloud: "kubevip" }, "patch"),
    ...verbs(poolOf("kubevip", "kubevip"), "get"),
  ],
  // Of a node the condition alone, which is part of its status. Nodes are counted before a route is deleted, and listed before one is taken
  // from an instance that lives.
  route: [
    ...verbs({ ...CLUSTER, ...ROUTES }, "get"),
    ...verbs({ ...NODES, ...ROUTES }, "list"),
    ...verbs({ ...NODES, ...ROUTES, subresource: "status" }, "patch"),
    ...verbs({ ...EVENTS, ...ROUTES }, "create"),
  ],
  // Nodes are counted before anything is taken from the instance of one that is gone.
  tagging: [...verbs(TAGGED_CLUSTER, "get"), ...verbs(TAGGED_NODES, "list", "patch")],
  sweep: [
    ...verbs(NODES, "list"),
    ...verbs(LEASE, "get"),
    ...verbs(REQUESTS, "list"),
    ...verbs(SERVICES, "list"),
    ...verbs(SERVED_CLUSTER, "list"),
    ...verbs({ ...CLUSTER, ...ROUTES }, "list"),
    ...verbs(TAGGED_CLUSTER, "list"),
  ],
  "ec2-events": [...verbs(NODES, "list")],
};

function verbs(what: What, ...names: readonly string[]): Right[] {
  return names.map((verb) => ({ verb, ...what }));
}

/** A right as it is needed in a cluster whose cloud is configured so: its ConfigMap may be another one than that of the manifests. */
export function inCluster(right: Right, cloud: Readonly<Record<string, unknown>>): Right {
  if (right.cloud === undefined || right.resource !== "configmaps") return right;
  const { namespace, configMap } = cloud;
  return { ...right, namespace: String(namespace), name: String(configMap) };
}
