import type { CallContext } from "#clouds/http/call-context.ts";
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
import type { Machine } from "#clouds/listed/machine.ts";
import { needsCloud, type Queried, type Query } from "#clouds/listed/query.ts";
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
  { directories, reads, notOurs, now }: Sources<M>,
  callContext: CallContext,
): Promise<ReadonlyMap<Node, Resolution<M>>> {
  const beganAt = now();
  // One view of each list for the whole call: neither its age nor another batch may replace it while other
  // lists are read.
  const seen = directories.map((directory) => directory.getRecent());
  let trouble: Fault | undefined;
  let isWorth = true;

  const left = (): Query[] =>
    [...queries].flatMap(([node, query]) =>
      isSettled(lookUp({ node, query }, seen, notOurs), query, seen, beganAt) ? [] : [query],
    );
  const needsList = (): boolean => {
    const open = left();
    const pages = seen.reduce((sum, each) => sum + (each?.pages ?? 0), 0);
    return open.some(({ kind }) => kind === "name") || !reads.isCheaperFor(collectIds(open).size, pages);
  };

  for (const [index, directory] of directories.entries()) {
    // A joined read may have begun before recent changes; a second one is recent enough.
    for (let round = 0; round < 2 && needsList() && !isFresh(seen[index], beganAt); round += 1) {
      const outcome = await directory.list(callContext);
      if (outcome.kind === "ok") seen[index] = outcome.value;
      trouble = outcome.kind === "ok" ? outcome.value.incomplete : outcome.fault;
      if (trouble !== undefined) break;
    }
    if (trouble === undefined) continue;
    // Most ids are in the first list, and if it could be read, the API is available.
    isWorth = index > 0 || isWorthReading(trouble);
    break;
  }
  const read = isWorth ? await reads.readAll(collectIds(left()), callContext) : new Map();
  return new Map(
    [...queries].map(([node, query]) => {
      const match = lookUp({ node, query }, seen, notOurs);
      const answer = query.kind === "id" ? read.get(query.id) : undefined;
      return [node, buildResolution({ node, query, match, answer, trouble }, notOurs)];
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
function isWorthReading(trouble: Fault | undefined): boolean {
  if (trouble === undefined) return true;
  return trouble.code === "Unavailable" && trouble.status === undefined && trouble.transient !== true;
}

function collectIds(queries: readonly Query[]): Set<string> {
  return new Set(queries.flatMap((query) => (query.kind === "id" ? [query.id] : [])));
}

interface LookupResult<M extends Machine> {
  readonly node: Queried;
  readonly query: Query;
  readonly match: Match<M> | undefined;
  readonly answer: Outcome<M | undefined> | undefined;
  readonly trouble: Fault | undefined;
}

function buildResolution<M extends Machine>(
  { node, query, match, answer, trouble }: LookupResult<M>,
  notOurs: CheckOwnership<M>,
): Resolution<M> {
  if (answer?.kind === "fault") return answer;
  if (answer !== undefined)
    return answer.value === undefined
      ? { kind: "absent", by: "id" }
      : checkMatch(answer.value, node, notOurs);
  if (match !== undefined && !(isOfOthers(match) && needsCloud(query))) return match;
  if (trouble !== undefined) return { kind: "fault", fault: trouble };
  if (match !== undefined || query.kind !== "name") return match ?? UNTOLD;
  return { kind: "absent", by: "name" };
}

/** No known path reaches this value; only the cloud's own statement proves that an id is gone. */
const UNTOLD: Resolution<never> = {
  kind: "fault",
  fault: { code: "Unavailable", message: "neither a list nor a read has returned it" },
};
