import { NODE_TAGS_MODELS } from "#clouds/providers.ts";
import type { Controller } from "#core/controller.ts";
import { selectWatches, WATCHES } from "#core/controllers.ts";

/**
 * All controllers by name, for processes that may run any of them; a deployed function has one. Each is
 * loaded on demand with its own dependencies.
 */
const CONTROLLERS: Readonly<Record<string, () => Promise<Controller>>> = {
  "cloud-node-controller": async () => (await import("#core/node/controller.ts")).nodeController,
  "node-claim-announcements": async () =>
    (await import("#core/look-ahead/controller.ts")).nodeClaimController,
  "kubelet-csr-announcements": async () =>
    (await import("#functions/parts/kubelet-csr-controller.ts")).kubeletCsrController,
  "cloud-node-lifecycle-controller": async () =>
    (await import("#core/node-lifecycle/controller.ts")).nodeLifecycleController,
  "csr-approver": async () => (await import("#functions/parts/csr-controller.ts")).csrController,
  "service-lb-controller": async () =>
    (await import("#functions/parts/service-controller.ts")).serviceController,
  "service-lb-orphans": async () => (await import("#functions/parts/service-controller.ts")).orphanController,
  "service-lb-tags": async () =>
    (await import("#core/digitalocean/load-balancer-tags/controller.ts")).tagsController,
  "firewall-controller": async () =>
    (await import("#core/digitalocean/firewall/controller.ts")).firewallController,
  "node-route-controller": async () => (await import("#core/route/controller.ts")).routeController,
  tagging: async () =>
    (await import("#core/tagging/controller.ts")).createTaggingController(NODE_TAGS_MODELS),
};

/** The names of all controllers. */
export const CONTROLLER_NAMES: readonly string[] = Object.keys(CONTROLLERS);

/** Loads the controllers with these names and their companions, in order. Unknown names are ignored. */
export async function loadControllers(names: readonly string[]): Promise<Controller[]> {
  const all = new Set(
    names.flatMap((name) => [name, ...selectWatches([name], WATCHES).map((each) => each.name)]),
  );
  const loading = [...all].flatMap((name) =>
    Object.hasOwn(CONTROLLERS, name) ? (CONTROLLERS[name]?.() ?? []) : [],
  );
  return Promise.all(loading);
}

/** Groups controllers by their function, in order: a function carries a controller and its companions. */
export function groupByFunction(
  controllers: readonly Controller[],
): ReadonlyMap<string, readonly Controller[]> {
  return Map.groupBy(controllers, ({ functionName }) => functionName);
}
