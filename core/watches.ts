import type { Watch } from "#core/controller.ts";
import { csrWatch } from "#core/csr/watch.ts";
import { firewallWatch } from "#core/firewall/watch.ts";
import { nodeWatch } from "#core/node/watch.ts";
import { nodeLifecycleWatch } from "#core/node-lifecycle/watch.ts";
import { routeWatch } from "#core/route/watch.ts";
import { orphanWatch } from "#core/service/orphans/watch.ts";
import { tagsWatch } from "#core/service/tags/watch.ts";
import { serviceWatch } from "#core/service/watch.ts";
import { taggingWatch } from "#core/tagging/watch.ts";

/** The watch half of every controller there is, in the order in which they are listed; a new one is a line here. */
export const WATCHES: readonly Watch[] = [
  nodeWatch,
  nodeLifecycleWatch,
  csrWatch,
  serviceWatch,
  orphanWatch,
  tagsWatch,
  firewallWatch,
  routeWatch,
  taggingWatch,
];

/** The watch halves of those that have a name of their own in `--controllers` and in a cluster's entry. */
export const NAMED_WATCHES: readonly Watch[] = WATCHES.filter(({ beside }) => beside === undefined);

/** The watch halves of the controllers of these names, and of those that are beside them; in the order of `watches`. */
export function watchesOf<Known extends Pick<Watch, "name" | "beside">>(
  names: readonly string[],
  watches: readonly Known[],
): readonly Known[] {
  return watches.filter(({ name, beside = name }) => names.includes(beside));
}

/** The watch half of a controller by its canonical name, or undefined where there is no such controller. */
export function findWatch(name: string): Watch | undefined {
  return WATCHES.find((watch) => watch.name === name);
}
