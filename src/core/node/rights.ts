import { buildRights, type ControllerRights, EVENT_OBJECTS, NODE_OBJECTS } from "#core/descriptor.ts";

/** The rights of the controller and of those who follow for it. */
export const nodeRights: ControllerRights = {
  followed: [],
  granted: [
    ...buildRights(NODE_OBJECTS, "get", "patch"),
    ...buildRights({ ...NODE_OBJECTS, subresource: "status" }, "patch"),
    ...buildRights(EVENT_OBJECTS, "create"),
  ],
  byRelay: true,
};
