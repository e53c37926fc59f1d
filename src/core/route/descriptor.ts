import type { ControllerDescriptor } from "#core/descriptor.ts";
import { RouteSettings } from "#core/route/settings.ts";

/** The key in `managedFields` of the condition that reports a node's routes. */
const ROUTE_CONDITION = 'k:{"type":"NetworkUnavailable"}';

export const routeDescriptor = {
  name: "node-route-controller",
  functionName: "route",
  // Off by default: an operator who runs the stock controller for routes in parallel must not be surprised.
  enablement: { aliases: ["route"] },
  cloudParts: ["routes"],
  settings: { routes: RouteSettings.prefault({}) },
  handover: {
    oneAtATime: true,
    isWriter: ({ has }) => has("f:status", "f:conditions", ROUTE_CONDITION),
  },
} as const satisfies ControllerDescriptor;
