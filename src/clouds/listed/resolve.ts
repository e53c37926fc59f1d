import type { CallContext } from "#clouds/http/meter.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import type { Listing } from "#clouds/listed/listing.ts";
import {
  type CheckOwnership,
  checkMatch,
  isOfOthers,
  type ListingsView,
  lookUp,
  type Match,
} from "#clouds/listed/look-up.ts";
import { type Machine, needsCloud, type Queried, type Query } from "#clouds/listed/query.ts";
import type { Sources } from "#clouds/listed/sources.ts";

/** The result for each node; "absent" is the cloud's own statement. */
export type Resolution<M extends Machine> =
  | Match<M>
  | { readonly kind: "absent"; readonly by: "id" | "name" };

/**
 * Resolves each node of a batch. It uses recent listings first. Then it reads one list after another, if
 * names or more than a few ids are left. Finally it reads single ids, the only proof that a machine is gone.
 */
export async function resolve<M extends Machine, Node extends Queried>(
  queries: ReadonlyMap<Node, Query>,
  { directories, reads, checkOwnership, now }: Sources<M>,
  callContext: CallContext,
): Promise<ReadonlyMap<Node, Resolution<M>>> {
  const beganAt = now();
  // One view of each list for the whole call: neither its age nor another batch may replace it while other
  // lists are read.
  const listings = directories.map((directory) => directory.getRecent());
  let failure: Fault | undefined;
  let canReadSingly = true;

  const listOpenQueries = (): Query[] =>
    [...queries].flatMap(([node, query]) =>
      isSettled(lookUp({ node, query }, listings, checkOwnership), query, listings, beganAt) ? [] : [query],
    );
  const needsList = (): boolean => {
    const open = listOpenQueries();
    const pages = listings.reduce((sum, each) => sum + (each?.pages ?? 0), 0);
    return open.some(({ kind }) => kind === "name") || !reads.isCheaperFor(collectIds(open).size, pages);
  };

  for (const [index, directory] of directories.entries()) {
    // A joined read may have begun before recent changes; a second one is recent enough.
    for (let round = 0; round < 2 && needsList() && !isFresh(listings[index], beganAt); round += 1) {
      const outcome = await directory.list(callContext);
      if (outcome.kind === "ok") listings[index] = outcome.value;
      failure = outcome.kind === "ok" ? outcome.value.incomplete : outcome.fault;
      if (failure !== undefined) break;
    }
    if (failure === undefined) continue;
    // Most ids are in the first list, and if it could be read, the API is available.
    canReadSingly = index > 0 || isWorthReading(failure);
    break;
  }
  const read = canReadSingly ? await reads.readAll(collectIds(listOpenQueries()), callContext) : new Map();
  return new Map(
    [...queries].map(([node, query]) => {
      const match = lookUp({ node, query }, listings, checkOwnership);
      const answer = query.kind === "id" ? read.get(query.id) : undefined;
      return [node, buildResolution({ node, query, match, answer, failure }, checkOwnership)];
    }),
  );
}

/**
 * Resolves nodes without requests: provider IDs that this cloud cannot have, and the fault for all others.
 */
export function resolveWithoutCloud<M extends Machine, Node extends Queried>(
  queries: ReadonlyMap<Node, Query>,
  fault: Fault,
): ReadonlyMap<Node, Resolution<M>> {
  return new Map(
    [...queries].map(([node, query]) => [
      node,
      lookUp<M>({ node, query }, [], () => undefined) ?? { kind: "fault", fault },
    ]),
  );
}

/**
 * An older listing can prove that a machine is the cluster's. A foreign one is searched for like a missing
 * one, so that the duration of an answer does not reveal that it exists.
 */
function isSettled<M extends Machine>(
  match: Match<M> | undefined,
  query: Query,
  view: ListingsView<M>,
  beganAt: number,
): boolean {
  if (!needsCloud(query)) return true;
  if (match === undefined || isOfOthers(match)) return false;
  return match.kind === "machine" || view.every((each) => each === undefined || isFresh(each, beganAt));
}

function isFresh<M extends Machine>(listing: Listing<M> | undefined, beganAt: number): boolean {
  return listing !== undefined && listing.startedAt >= beganAt;
}

/**
 * Whether single reads make sense. If the API as a whole fails, single nodes are not read; if a list was
 * readable but useless, they are. A server that answers a list with an error is not trusted about single
 * machines either.
 */
function isWorthReading(failure: Fault | undefined): boolean {
  if (failure === undefined) return true;
  return failure.code === "Unavailable" && failure.status === undefined && failure.transient !== true;
}

function collectIds(queries: readonly Query[]): Set<string> {
  return new Set(queries.flatMap((query) => (query.kind === "id" ? [query.id] : [])));
}

interface LookupResult<M extends Machine> {
  readonly node: Queried;
  readonly query: Query;
  readonly match: Match<M> | undefined;
  readonly answer: Outcome<M | undefined> | undefined;
  readonly failure: Fault | undefined;
}

function buildResolution<M extends Machine>(
  { node, query, match, answer, failure }: LookupResult<M>,
  checkOwnership: CheckOwnership<M>,
): Resolution<M> {
  if (answer?.kind === "fault") return answer;
  if (answer !== undefined)
    return answer.value === undefined
      ? { kind: "absent", by: "id" }
      : checkMatch(answer.value, node, checkOwnership);
  if (match !== undefined && !(isOfOthers(match) && needsCloud(query))) return match;
  if (failure !== undefined) return { kind: "fault", fault: failure };
  if (match !== undefined || query.kind !== "name") return match ?? NO_ANSWER;
  return { kind: "absent", by: "name" };
}

/** No known path reaches this value; only the cloud's own statement proves that an id is gone. */
const NO_ANSWER: Resolution<never> = {
  kind: "fault",
  fault: { code: "Unavailable", message: "neither a list nor a read has returned it" },
};
