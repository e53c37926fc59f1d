import type { Fault } from "#clouds/http/outcome.ts";
import type { Listing } from "#clouds/listed/listing.ts";
import type { Machine } from "#clouds/listed/machine.ts";
import type { Query } from "#clouds/listed/query.ts";
import type { Node } from "#core/node/node.ts";

/** What a node was found to be. */
export type Match<M extends Machine> =
  | { readonly kind: "machine"; readonly machine: M }
  | { readonly kind: "fault"; readonly fault: Fault };

/**
 * What keeps a machine from being the cluster's, expected and found; undefined where it is the cluster's. `node` is whose it would be,
 * for what only a node can tell of a machine that has ended.
 */
export type NotOurs<M extends Machine> = (machine: M, node: Node | undefined) => Fault | undefined;

/** Looks a query up in a listing; undefined where it cannot tell, which is never because of absence alone. */
export function lookUp<M extends Machine>(
  { node, query }: { readonly node: Node; readonly query: Query },
  listing: Listing<M> | undefined,
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
      const machine = listing?.byId.get(query.id);
      return machine && matchOf(machine, node, notOurs);
    }
    case "name": {
      // Half a list tells nothing: a second of that name may be in the other half.
      if (listing === undefined || listing.incomplete !== undefined) return undefined;
      return matchOfName(listing.byName.get(query.name) ?? [], node, notOurs);
    }
  }
}

/** A machine that was found by itself. */
export function matchOf<M extends Machine>(machine: M, node: Node, notOurs: NotOurs<M>): Match<M> {
  const fault = notOurs(machine, node);
  return fault === undefined ? { kind: "machine", machine } : { kind: "fault", fault };
}

/** Whether a machine was found that is not the cluster's, or not known to be. */
export function isOfOthers<M extends Machine>(match: Match<M>): boolean {
  return match.kind === "fault" && (match.fault.code === "Foreign" || match.fault.code === "Denied");
}

/** Those of others do not make a name ambiguous. */
function matchOfName<M extends Machine>(
  named: readonly M[],
  node: Node,
  notOurs: NotOurs<M>,
): Match<M> | undefined {
  const ours = named.filter((machine) => notOurs(machine, undefined) === undefined);
  const [machine, second] = ours;
  if (second !== undefined) {
    const ids = ours.map(({ id }) => id).toSorted();
    const message = `${ids.length} machines have that name, ${ids.slice(0, 5).join(", ")}`;
    return { kind: "fault", fault: { code: "Ambiguous", message } };
  }
  if (machine !== undefined) return { kind: "machine", machine };
  const [foreign] = named;
  return foreign && matchOf(foreign, node, (each) => notOurs(each, undefined));
}
