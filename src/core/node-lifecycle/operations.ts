import { STATE_CONFIG_MAP, SYSTEM_NAMESPACE } from "#core/contracts.ts";
import {
  buildRights,
  type ControllerOperations,
  EVENT_OBJECTS,
  NODE_OBJECTS,
  type RightTarget,
} from "#core/descriptor.ts";

const STATE: RightTarget = {
  group: "",
  resource: "configmaps",
  namespace: SYSTEM_NAMESPACE,
  name: STATE_CONFIG_MAP,
};

/** What operators and their tools need of the controller. */
export const nodeLifecycleOperations: ControllerOperations = {
  rights: {
    followed: [],
    granted: [
      ...buildRights(NODE_OBJECTS, "get", "list", "patch", "delete"),
      ...buildRights(EVENT_OBJECTS, "create"),
      ...buildRights(STATE, "get", "update"),
    ],
  },
  // The list of taints is one field: its last writer added the shutdown taint or kept it.
  handover: { isWriter: ({ has, isShutDown }) => isShutDown && has("f:spec", "f:taints") },
};
