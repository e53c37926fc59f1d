import { NODE_LIFECYCLE_EVENT_SOURCE, STATE_CONFIG_MAP, SYSTEM_NAMESPACE } from "#core/contracts.ts";
import {
  buildRights,
  type ControllerDescriptor,
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

export const nodeLifecycleDescriptor = {
  name: NODE_LIFECYCLE_EVENT_SOURCE,
  functionName: "node-lifecycle",
  enablement: { aliases: ["cloud-node-lifecycle"], onByDefault: true },
  rights: {
    followed: [],
    granted: [
      ...buildRights(NODE_OBJECTS, "get", "list", "patch", "delete"),
      ...buildRights(EVENT_OBJECTS, "create"),
      ...buildRights(STATE, "get", "update"),
    ],
    byRelay: true,
  },
  // The list of taints is one field: its last writer added the shutdown taint or kept it.
  handover: { isWriter: ({ has, isShutDown }) => isShutDown && has("f:spec", "f:taints") },
} as const satisfies ControllerDescriptor;
