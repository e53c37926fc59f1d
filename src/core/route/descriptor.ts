import {
  buildRights,
  CLUSTER_OBJECT,
  type ControllerDescriptor,
  EVENT_OBJECTS,
  NODE_OBJECTS,
} from "#core/descriptor.ts";
import { RouteSettings } from "#core/route/settings.ts";

const OF_ROUTES = { controller: "node-route-controller" } as const;

/** The key in `managedFields` of the condition that reports a node's routes. */
const ROUTE_CONDITION = 'k:{"type":"NetworkUnavailable"}';

export const routeDescriptor = {
  name: OF_ROUTES.controller,
  functionName: "route",
  // Off by default: an operator who runs the stock controller for routes in parallel must not be surprised.
  enablement: { aliases: ["route"] },
  cloudParts: ["routes"],
  settings: { routes: RouteSettings.prefault({}) },
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
} as const satisfies ControllerDescriptor;
