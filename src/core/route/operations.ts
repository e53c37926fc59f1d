import {
  buildRights,
  CLUSTER_OBJECT,
  type ControllerOperations,
  EVENT_OBJECTS,
  NODE_OBJECTS,
} from "#core/descriptor.ts";
import { routeDescriptor } from "#core/route/descriptor.ts";

const OF_ROUTES = { controller: routeDescriptor.name } as const;

/** The key in `managedFields` of the condition that reports a node's routes. */
const ROUTE_CONDITION = 'k:{"type":"NetworkUnavailable"}';

/** What operators and their tools need of the controller. */
export const routeOperations: ControllerOperations = {
  rights: {
    followed: [{ ...CLUSTER_OBJECT, ...OF_ROUTES }],
    // On a node only the condition is written, which is part of its status. Nodes are counted before a route
    // is deleted, and listed before a route is taken from a live instance.
    granted: [
      ...buildRights({ ...CLUSTER_OBJECT, ...OF_ROUTES }, "get"),
      ...buildRights({ ...NODE_OBJECTS, ...OF_ROUTES }, "list"),
      ...buildRights({ ...NODE_OBJECTS, ...OF_ROUTES, subresource: "status" }, "patch"),
      ...buildRights({ ...EVENT_OBJECTS, ...OF_ROUTES }, "create"),
    ],
  },
  handover: {
    oneAtATime: true,
    isWriter: ({ has }) => has("f:status", "f:conditions", ROUTE_CONDITION),
  },
};
