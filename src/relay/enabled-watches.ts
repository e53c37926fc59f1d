import { type Cluster, selectSettings } from "#config/cluster.ts";
import { selectNeededWatches } from "#core/controllers.ts";
import type { ParsedObject, Watch } from "#core/watch.ts";
import type { ClusterNote } from "#relay/report/relay-note.ts";

/**
 * Returns the watches of the cluster's controllers, with their companions. Those of one resource share its
 * parsed objects. Reports each configured controller that is not among `watches`.
 */
export function selectEnabledWatches(
  cluster: Cluster,
  watches: readonly Watch[],
  note: (note: ClusterNote) => void,
): readonly Watch[] {
  return shareParsing(selectEnabled(cluster, watches, note));
}

function selectEnabled(
  cluster: Cluster,
  watches: readonly Watch[],
  note: (note: ClusterNote) => void,
): readonly Watch[] {
  const found: Watch[] = [];
  const settings = selectSettings(cluster);
  for (const controller of new Set(cluster.controllers)) {
    const known = watches.find(
      ({ name, enablement }) => name === controller && enablement?.companionOf === undefined,
    );
    if (known === undefined) note({ kind: "unknown-controller", controller });
    else found.push(...selectNeededWatches([controller], watches, settings));
  }
  return found;
}

/**
 * Returns watches that share one parsed object while any of them holds it. Controllers of one resource
 * see each object in turn, and parsing is the largest cost of an event.
 */
export function shareParsing(watches: readonly Watch[]): readonly Watch[] {
  const shared = new Map<Watch["parse"], Watch["parse"]>();
  return watches.map((watch) => {
    if (watches.filter(({ parse }) => parse === watch.parse).length === 1) return watch;
    const parse = shared.get(watch.parse) ?? memoizeParse(watch.parse);
    shared.set(watch.parse, parse);
    return { ...watch, parse };
  });
}

function memoizeParse(parse: Watch["parse"]): Watch["parse"] {
  const seen = new WeakMap<object, ReturnType<Watch["parse"]>>();
  return (value) => {
    if (typeof value !== "object" || value === null) return parse(value);
    const parsed: ParsedObject<never> | ReturnType<Watch["parse"]> = seen.get(value) ?? parse(value);
    seen.set(value, parsed);
    return parsed;
  };
}
