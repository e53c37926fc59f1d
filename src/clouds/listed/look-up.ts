import { type CallContext, createMeteredFlight } from "#clouds/http/meter.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import type { Listing } from "#clouds/listed/listing.ts";
import type { Machine, Queried, Query } from "#clouds/listed/query.ts";
import { ok } from "#clouds/outcome.ts";

/** The machine found for a node. */
export type Match<M extends Machine> =
  /** `guess` if it matched by less than identity. */
  | { readonly kind: "machine"; readonly machine: M; readonly guess: boolean }
  | { readonly kind: "fault"; readonly fault: Fault };

/**
 * Returns the expected and the found value that prove a machine foreign; undefined if it belongs to the
 * cluster. `node` helps with a terminated machine, whose owner only its node can prove.
 */
export type CheckOwnership<M extends Machine> = (machine: M, node: Queried | undefined) => Fault | undefined;

/** The known listing of each list of a cloud, in the order of reading; undefined if unknown. */
export type ListingsView<M extends Machine> = readonly (Listing<M> | undefined)[];

/** Looks a query up in listings; undefined if they cannot answer it, never only because of absence. */
export function lookUp<M extends Machine>(
  { node, query }: { readonly node: Queried; readonly query: Query },
  view: ListingsView<M>,
  checkOwnership: CheckOwnership<M>,
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
      return machine && checkMatch(machine, node, checkOwnership);
    }
    case "name":
      return lookUpName(query.name, selectCompleteListings(view), checkOwnership);
  }
}

/** Checks a machine that was read by itself. */
export function checkMatch<M extends Machine>(
  machine: M,
  node: Queried,
  checkOwnership: CheckOwnership<M>,
): Match<M> {
  const fault = checkOwnership(machine, node);
  return fault === undefined ? { kind: "machine", machine, guess: false } : { kind: "fault", fault };
}

/** Whether the found machine is foreign, or its owner unproven. */
export function isOfOthers<M extends Machine>(match: Match<M>): boolean {
  return match.kind === "fault" && (match.fault.code === "Foreign" || match.fault.code === "Denied");
}

/**
 * An incomplete list proves nothing, and neither does one after it: the missing part may hold a second
 * machine of that name.
 */
function selectCompleteListings<M extends Machine>(view: ListingsView<M>): readonly Listing<M>[] {
  const end = view.findIndex((each) => each === undefined || each.incomplete !== undefined);
  return view.slice(0, end === -1 ? view.length : end).filter((each) => each !== undefined);
}

/**
 * Finds a machine by its exact name, else by an address that is the node's name. Foreign machines do not make
 * a name ambiguous, because one with the same address may be in another network.
 */
function lookUpName<M extends Machine>(
  name: string,
  whole: readonly Listing<M>[],
  checkOwnership: CheckOwnership<M>,
): Match<M> | undefined {
  const isOurs = (machine: M): boolean => checkOwnership(machine, undefined) === undefined;
  const named = removeDuplicates(whole.flatMap(({ byName }) => byName.get(name) ?? []));
  const byName = selectOnly(named.filter(isOurs), false);
  if (byName !== undefined) return byName;
  const addressed = removeDuplicates(whole.flatMap(({ byAddress }) => byAddress.get(name) ?? []));
  const byAddress = selectOnly(addressed.filter(isOurs), true);
  if (byAddress !== undefined) return byAddress;
  const [foreign] = named;
  const fault = foreign && checkOwnership(foreign, undefined);
  return fault && { kind: "fault", fault };
}

function selectOnly<M extends Machine>(candidates: readonly M[], guess: boolean): Match<M> | undefined {
  const [machine, second] = candidates;
  if (machine === undefined) return undefined;
  if (second === undefined) return { kind: "machine", machine, guess };
  const ids = candidates.map(({ id }) => id).toSorted();
  const message = `${ids.length} machines answer to it, ${ids.slice(0, 5).join(", ")}`;
  return { kind: "fault", fault: { code: "Ambiguous", message } };
}

function removeDuplicates<M extends Machine>(machines: readonly M[]): readonly M[] {
  return [...new Map(machines.map((machine) => [machine.id, machine])).values()];
}

/** The part of a list that is needed here. */
interface DatedList {
  readonly startedAt: number;
  /** Why it may be incomplete, if so. */
  readonly incomplete: Fault | undefined;
  readonly byId: ReadonlyMap<string, unknown>;
}

/** One list of machines, shared by all callers: at most one read at a time, cached for a while. */
export interface Directory<List extends DatedList> {
  /** Returns the last listing while it is valid. */
  getRecent(): List | undefined;
  /** Returns the current read, which may have begun before this call, or a new one. */
  list(callContext: CallContext): Promise<Outcome<List>>;
}

/**
 * Creates a directory. `fetch` sends the requests and never rejects. `now` is a monotonic clock in
 * milliseconds.
 */
export function createDirectory<List extends DatedList>(
  fetch: (callContext: CallContext) => Promise<List>,
  maxAgeMs: number,
  now: () => number,
): Directory<List> {
  let latest: List | undefined;
  const sharedRun = createMeteredFlight(fetch);

  const getRecent = (): List | undefined =>
    latest !== undefined && now() - latest.startedAt < maxAgeMs ? latest : undefined;

  return {
    getRecent,
    async list(callContext) {
      const listing = await sharedRun.join(callContext);
      if (listing === undefined) return { kind: "fault", fault: ABORTED };
      // An incomplete list is better than none, but does not replace a complete one.
      const isIncomplete = listing.incomplete !== undefined;
      if (!isIncomplete || (listing.byId.size > 0 && getRecent() === undefined)) latest = listing;
      return ok(listing);
    },
  };
}

const ABORTED: Fault = {
  code: "Aborted",
  message: "a list of the cloud's machines: aborted before it was complete",
};
