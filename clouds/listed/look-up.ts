import type { Fault } from "#clouds/http/outcome.ts";
import type { Listing } from "#clouds/listed/listing.ts";
import type { Machine } from "#clouds/listed/machine.ts";
import type { Queried, Query } from "#clouds/listed/query.ts";

/** What a node was found to be. */
export type Match<M extends Machine> =
  /** `guess` where it was less than identity that told. */
  | { readonly kind: "machine"; readonly machine: M; readonly guess: boolean }
  | { readonly kind: "fault"; readonly fault: Fault };

/**
 * What keeps a machine from being the cluster's, expected and found; undefined where it is the cluster's. `node` is whose it would be,
 * for what only a node can tell of a machine that has ended.
 */
export type NotOurs<M extends Machine> = (machine: M, node: Queried | undefined) => Fault | undefined;

/** What is known of each list of a cloud, in the order in which they are asked for; undefined where that is nothing. */
export type View<M extends Machine> = readonly (Listing<M> | undefined)[];

/** Looks a query up in listings; undefined where they cannot tell, which is never because of absence alone. */
export function lookUp<M extends Machine>(
  { node, query }: { readonly node: Queried; readonly query: Query },
  view: View<M>,
  notOurs: NotOurs<M>,
): Match<M> | undefined {
  switch (query.kind) {
    case "elsewhere":
      return { kind: "fault", fault: { code: "Foreign", message: query.message } };
    case "foreign":
      return { kind: "fault", fault: { code: "ForeignProviderID", message: query.message } };
    case "invalid":
      return { kind: "fault", fault: { code: "InvalidProviderID", message: query.message } };
    case "id": {
      const machine = view.map((each) => each?.byId.get(query.id)).find((each) => each !== undefined);
      return machine && matchOf(machine, node, notOurs);
    }
    case "name":
      return lookUpName(query.name, wholeOf(view), notOurs);
  }
}

/** A machine that was found by itself. */
export function matchOf<M extends Machine>(machine: M, node: Queried, notOurs: NotOurs<M>): Match<M> {
  const fault = notOurs(machine, node);
  return fault === undefined ? { kind: "machine", machine, guess: false } : { kind: "fault", fault };
}

/** Whether a machine was found that is not the cluster's, or not known to be. */
export function isOfOthers<M extends Machine>(match: Match<M>): boolean {
  return match.kind === "fault" && (match.fault.code === "Foreign" || match.fault.code === "Denied");
}

/** Half a list tells nothing, nor does one behind it: a second machine of that name may be in the other half. */
function wholeOf<M extends Machine>(view: View<M>): readonly Listing<M>[] {
  const end = view.findIndex((each) => each === undefined || each.incomplete !== undefined);
  return view.slice(0, end === -1 ? view.length : end).filter((each) => each !== undefined);
}

/**
 * By the machine's exact name; else by an address that is the node's name. Those of others do not make a name ambiguous, and whoever else
 * has the address may be in another network.
 */
function lookUpName<M extends Machine>(
  name: string,
  whole: readonly Listing<M>[],
  notOurs: NotOurs<M>,
): Match<M> | undefined {
  const isOurs = (machine: M): boolean => notOurs(machine, undefined) === undefined;
  const named = unique(whole.flatMap(({ byName }) => byName.get(name) ?? []));
  const byName = oneOf(named.filter(isOurs), false);
  if (byName !== undefined) return byName;
  const addressed = unique(whole.flatMap(({ byAddress }) => byAddress.get(name) ?? []));
  const byAddress = oneOf(addressed.filter(isOurs), true);
  if (byAddress !== undefined) return byAddress;
  const [foreign] = named;
  const fault = foreign && notOurs(foreign, undefined);
  return fault && { kind: "fault", fault };
}

function oneOf<M extends Machine>(candidates: readonly M[], guess: boolean): Match<M> | undefined {
  const [machine, second] = candidates;
  if (machine === undefined) return undefined;
  if (second === undefined) return { kind: "machine", machine, guess };
  const ids = candidates.map(({ id }) => id).toSorted();
  const message = `${ids.length} machines answer to it, ${ids.slice(0, 5).join(", ")}`;
  return { kind: "fault", fault: { code: "Ambiguous", message } };
}

function unique<M extends Machine>(machines: readonly M[]): readonly M[] {
  return [...new Map(machines.map((machine) => [machine.id, machine])).values()];
}
