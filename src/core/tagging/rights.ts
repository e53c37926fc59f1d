import { buildRights, CLUSTER_OBJECT, type ControllerRights, NODE_OBJECTS } from "#core/descriptor.ts";
import { TAGGING } from "#core/tagging/settings.ts";

/** The rights of the controller and of those who follow for it. */
export const taggingRights: ControllerRights = {
  followed: [{ ...CLUSTER_OBJECT, controller: TAGGING }],
  // Nodes are counted before tags are removed from the instance of a node that is gone.
  granted: [
    ...buildRights({ ...CLUSTER_OBJECT, controller: TAGGING }, "get"),
    ...buildRights({ ...NODE_OBJECTS, controller: TAGGING }, "list", "patch"),
  ],
};
