import { csrWatch } from "#core/csr/watch.ts";
import { firewallWatch } from "#core/digitalocean/firewall/watch.ts";
import { tagsWatch } from "#core/digitalocean/load-balancer-tags/watch.ts";
import { kubeletCsrWatch, nodeClaimWatch } from "#core/look-ahead/watch.ts";
import { nodeWatch } from "#core/node/watch.ts";
import { nodeLifecycleWatch } from "#core/node-lifecycle/watch.ts";
import { routeWatch } from "#core/route/watch.ts";
import { orphanWatch } from "#core/service/orphans/watch.ts";
import { serviceWatch } from "#core/service/watch.ts";
import type { Settings } from "#core/settings.ts";
import { taggingWatch } from "#core/tagging/watch.ts";
import type { Watch } from "#core/watch.ts";

/** The watch half of every controller, in listing order; a new one is a line here. */
export const WATCHES: readonly Watch[] = [
  nodeWatch,
  nodeClaimWatch,
  kubeletCsrWatch,
  nodeLifecycleWatch,
  csrWatch,
  serviceWatch,
  orphanWatch,
  tagsWatch,
  firewallWatch,
  routeWatch,
  taggingWatch,
];

/** The watch halves with their own name in `--controllers` and in a cluster's entry. */
export const NAMED_WATCHES: readonly Watch[] = WATCHES.filter(
  ({ enablement }) => enablement?.companionOf === undefined,
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
