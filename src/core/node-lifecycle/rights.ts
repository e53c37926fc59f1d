import { STATE_CONFIG_MAP, SYSTEM_NAMESPACE } from "#core/contracts.ts";
import {
  buildRights,
  type ControllerRights,
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

/** The rights of the controller and of those who follow for it. */
export const nodeLifecycleRights: ControllerRights = {
  followed: [],
  granted: [
    ...buildRights(NODE_OBJECTS, "get", "list", "patch", "delete"),
    ...buildRights(EVENT_OBJECTS, "create"),
    ...buildRights(STATE, "get", "update"),
  ],
  byRelay: true,
};
