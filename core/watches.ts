import type { Watch } from "#core/controller.ts";
import { csrWatch } from "#core/csr/watch.ts";
import { nodeWatch } from "#core/node/watch.ts";
import { nodeLifecycleWatch } from "#core/node-lifecycle/watch.ts";
import { routeWatch } from "#core/route/watch.ts";
import { serviceWatch } from "#core/service/watch.ts";
import { taggingWatch } from "#core/tagging/watch.ts";

/** The watch half of every controller there is, in the order in which they are listed; a new one is a line here. */
export const WATCHES: readonly Watch[] = [
  nodeWatch,
  nodeLifecycleWatch,
  csrWatch,
  serviceWatch,
  routeWatch,
  taggingWatch,
];

/** The watch half of a controller by its canonical name, or undefined where there is no such controller. */
export function findWatch(name: string): Watch | undefined {
  return WATCHES.find((watch) => watch.name === name);
}
