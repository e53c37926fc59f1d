import type { ControllerDescriptor } from "#core/descriptor.ts";
import { RouteSettings } from "#core/route/settings.ts";

export const routeDescriptor = {
  name: "node-route-controller",
  functionName: "route",
  // Off by default: an operator who runs the stock controller for routes in parallel must not be surprised.
  enablement: { aliases: ["route"] },
  cloudParts: ["routes"],
  settings: { routes: RouteSettings.prefault({}) },
} as const satisfies ControllerDescriptor;
