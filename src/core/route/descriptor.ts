import type { ControllerDescriptor, UnusableSettings } from "#core/descriptor.ts";
import { RouteSettings } from "#core/route/settings.ts";

const NAME = "node-route-controller";

export const routeDescriptor = {
  name: NAME,
  functionName: "route",
  // Off by default: an operator who runs the stock controller for routes in parallel must not be surprised.
  enablement: { aliases: ["route"] },
  cloudParts: ["routes"],
  settings: { routes: RouteSettings.prefault({}) },
  checkSettings,
} as const satisfies ControllerDescriptor;

/**
 * Checks the networks, because the controller creates and deletes routes only in these. `routes.configure:
 * false` disables the controller, as with the stock controller.
 */
function checkSettings({ routes }: { readonly routes: RouteSettings }): UnusableSettings | undefined {
  if (!routes.configure) return { kind: "disabled", reason: "routes.configure is false" };
  if (routes.clusterCIDRs.length > 0) return undefined;
  const message = `is missing: ${NAME} makes routes within the networks of the cluster's pods, such as 10.128.0.0/14`;
  return { kind: "faulty", path: ["routes", "clusterCIDRs"], message };
}
