import { SYSTEM_NAMESPACE } from "#core/contracts.ts";
import {
  buildRights,
  CLUSTER_OBJECT,
  type ControllerOperations,
  NODE_OBJECTS,
  type RightTarget,
} from "#core/descriptor.ts";
import { serviceDescriptor } from "#core/service/descriptor.ts";

const NAME = serviceDescriptor.name;

const SERVICES: RightTarget = { group: "", resource: "services", controller: NAME };

/** The namespace kube-system, which represents the cluster in the audit of orphaned load balancers. */
const SERVED_CLUSTER: RightTarget = { ...CLUSTER_OBJECT, controller: NAME };

/**
 * A ConfigMap of the cluster's cloud, with the name that `infra/rbac` uses. `resolveRight` puts the configured
 * namespace and name in its place.
 */
const buildConfigMapTarget = (cloud: string, name: string): RightTarget => ({
  ...{ group: "", resource: "configmaps", namespace: SYSTEM_NAMESPACE, name, cloud },
  controller: NAME,
});

/** What operators and their tools must know of the controller: its rights, and how it is handed over. */
export const serviceOperations: ControllerOperations = {
  rights: {
    followed: [SERVICES, SERVED_CLUSTER],
    // The spec of a Service is written only where kube-vip reads an address from it; its status subresource
    // also takes finalizers and annotations. Services are counted before a load balancer counts as an orphan,
    // and nodes are listed before a load balancer loses its last target.
    granted: [
      ...buildRights(SERVICES, "get", "list"),
      ...buildRights(SERVED_CLUSTER, "get"),
      ...buildRights({ ...NODE_OBJECTS, controller: NAME }, "list"),
      ...buildRights({ ...SERVICES, subresource: "status" }, "patch"),
      // Events on a namespaced object are in its namespace, and Services are in all namespaces.
      ...buildRights({ group: "", resource: "events", controller: NAME }, "create"),
      ...buildRights(buildConfigMapTarget("keepalived", "vip-configmap"), "get", "patch"),
      ...buildRights({ ...SERVICES, cloud: "kubevip" }, "patch"),
      ...buildRights(buildConfigMapTarget("kubevip", "kubevip"), "get"),
    ],
  },
  handover: { oneAtATime: true },
};
