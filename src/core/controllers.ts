import { csrOperations } from "#core/csr/operations.ts";
import { csrWatch } from "#core/csr/watch.ts";
import type { ControllerDescriptor, ControllerOperations } from "#core/descriptor.ts";
import { type ControllerFunctionName, DESCRIPTORS } from "#core/descriptors.ts";
import { firewallWatch } from "#core/digitalocean/firewall/watch.ts";
import { tagsWatch } from "#core/digitalocean/load-balancer-tags/watch.ts";
import { kubeletCsrWatch, nodeClaimWatch } from "#core/look-ahead/watch.ts";
import { nodeOperations } from "#core/node/operations.ts";
import { nodeWatch } from "#core/node/watch.ts";
import { nodeLifecycleOperations } from "#core/node-lifecycle/operations.ts";
import { nodeLifecycleWatch } from "#core/node-lifecycle/watch.ts";
import { routeOperations } from "#core/route/operations.ts";
import { routeWatch } from "#core/route/watch.ts";
import { serviceOperations } from "#core/service/operations.ts";
import { orphanWatch } from "#core/service/orphans/watch.ts";
import { serviceWatch } from "#core/service/watch.ts";
import type { Settings } from "#core/settings.ts";
import { taggingOperations } from "#core/tagging/operations.ts";
import { taggingWatch } from "#core/tagging/watch.ts";
import type { Watch } from "#core/watch.ts";

/** A controller with its own name in `--controllers` and in a cluster's entry. */
interface NamedController {
  readonly watch: Watch;
  /** The watch halves of the controllers that are always enabled with it, and share its function. */
  readonly companions?: readonly Watch[];
  readonly operations: ControllerOperations;
}

/** Every controller by its function, in listing order; a new one is a line here. */
const CONTROLLERS: Readonly<Record<ControllerFunctionName, NamedController>> = {
  node: { watch: nodeWatch, companions: [nodeClaimWatch, kubeletCsrWatch], operations: nodeOperations },
  "node-lifecycle": { watch: nodeLifecycleWatch, operations: nodeLifecycleOperations },
  csr: { watch: csrWatch, operations: csrOperations },
  service: {
    watch: serviceWatch,
    companions: [orphanWatch, tagsWatch, firewallWatch],
    operations: serviceOperations,
  },
  route: { watch: routeWatch, operations: routeOperations },
  tagging: { watch: taggingWatch, operations: taggingOperations },
};

/** The watch half of every controller, in listing order; companions follow their controller. */
export const WATCHES: readonly Watch[] = Object.values(CONTROLLERS).flatMap(({ watch, companions = [] }) => [
  watch,
  ...companions,
]);

/** The watch halves with their own name in `--controllers` and in a cluster's entry. */
export const NAMED_WATCHES: readonly Watch[] = Object.values(CONTROLLERS).map(({ watch }) => watch);

/** A controller as operators see it. */
export interface OperatedController extends Pick<ControllerDescriptor, "name">, ControllerOperations {
  readonly functionName: ControllerFunctionName;
}

/** Every controller with a name of its own, as operators see it, in listing order. */
export const OPERATED_CONTROLLERS: readonly OperatedController[] = DESCRIPTORS.map(
  ({ name, functionName }) => ({ name, functionName, ...CONTROLLERS[functionName].operations }),
);

/** Returns the watch halves of the named controllers and of their companions, in the order of `watches`. */
export function selectWatches<Known extends Pick<Watch, "name" | "enablement">>(
  names: readonly string[],
  watches: readonly Known[],
): readonly Known[] {
  return watches.filter(({ name, enablement }) => names.includes(enablement?.companionOf ?? name));
}

/** Like `selectWatches`, without those that a cluster with these settings does not need. */
export function selectNeededWatches(
  names: readonly string[],
  watches: readonly Watch[],
  settings: Settings,
): readonly Watch[] {
  return selectWatches(names, watches).filter(({ enablement }) => enablement?.isFor?.(settings) !== false);
}

/** Returns the watch half of a controller by its canonical name; undefined if it is unknown. */
export function findWatch(name: string): Watch | undefined {
  return WATCHES.find((watch) => watch.name === name);
}

/** Returns the function that handles a controller's events: an unknown controller's own name. */
export function getFunctionName(controller: string): string {
  return findWatch(controller)?.functionName ?? controller;
}
