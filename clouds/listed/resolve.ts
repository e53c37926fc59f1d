import type { Turn } from "#clouds/http/api.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import type { Listing } from "#clouds/listed/listing.ts";
import { isOfOthers, lookUp, type Match, matchOf, type NotOurs, type View } from "#clouds/listed/look-up.ts";
import type { Machine } from "#clouds/listed/machine.ts";
import { isSought, type Queried, type Query } from "#clouds/listed/query.ts";
import type { Sources } from "#clouds/listed/sources.ts";

/** What became of each node; "absent" is the cloud's own statement. */
export type Resolution<M extends Machine> =
  | Match<M>
  | { readonly kind: "absent"; readonly by: "id" | "name" };

/**
 * Finds out what each node of a batch is. First what lately was listed tells; then one list after the other, where names or more than a few
 * ids are left; and last the ids one by one, which alone shows that one is gone.
 */
export async function resolve<M extends Machine, Node extends Queried>(
  queries: ReadonlyMap<Node, Query>,
  { directories, reads, notOurs, now }: Sources<M>,
  turn: Turn,
): Promise<ReadonlyMap<Node, Resolution<M>>> {
  const beganAt = now();
  // One listing of each list for all that follows: what it tells now must not be untold by its age, or by another batch's, while others are read.
  const seen = directories.map((directory) => directory.recent());
  let trouble: Fault | undefined;
  let isWorth = true;

  const left = (): Query[] =>
    [...queries].flatMap(([node, query]) =>
      isSettled(lookUp({ node, query }, seen, notOurs), query, seen, beganAt) ? [] : [query],
    );
  const needsList = (): boolean => {
    const open = left();
    const pages = seen.reduce((sum, each) => sum + (each?.pages ?? 0), 0);
    return open.some(({ kind }) => kind === "name") || !reads.isCheaperFor(idsOf(open).size, pages);
  };

  for (const [index, directory] of directories.entries()) {
    // Whoever joins a list that had begun before him does not know of what came since, and once more is enough.
    for (let round = 0; round < 2 && needsList() && !isFresh(seen[index], beganAt); round += 1) {
      const outcome = await directory.list(turn);
      if (outcome.kind === "ok") seen[index] = outcome.value;
      trouble = outcome.kind === "ok" ? outcome.value.incomplete : outcome.fault;
      if (trouble !== undefined) break;
    }
    if (trouble === undefined) continue;
    // Ids are most of them of the first list, and where that was had the API is there.
    isWorth = index > 0 || isWorthReading(trouble);
    break;
  }
  const read = isWorth ? await reads.readAll(idsOf(left()), turn) : new Map();
  return new Map(
    [...queries].map(([node, query]) => {
      const match = lookUp({ node, query }, seen, notOurs);
      const answer = query.kind === "id" ? read.get(query.id) : undefined;
      return [node, resolutionOf({ node, query, match, answer, trouble }, notOurs)];
    }),
  );
}

/** Where nothing can be asked: what each node names that this cloud does not have all the same, and for the others why. */
export function unresolved<M extends Machine, Node extends Queried>(
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
 * A listing from before shows that a machine is the cluster's. One that is not is looked for as long as one that is not there: how
 * long an answer takes must not tell a node that names it that there is such a machine.
 */
function isSettled<M extends Machine>(
  match: Match<M> | undefined,
  query: Query,
  view: View<M>,
  beganAt: number,
): boolean {
  if (!isSought(query)) return true;
  if (match === undefined || isOfOthers(match)) return false;
  return match.kind === "machine" || view.every((each) => each === undefined || isFresh(each, beganAt));
}

function isFresh<M extends Machine>(listing: Listing<M> | undefined, beganAt: number): boolean {
  return listing !== undefined && listing.startedAt >= beganAt;
}

/**
 * Where the API is in trouble as a whole, a batch is not taken apart; where a list came and was of no use, ids are still
 * read. A server that answers a list with an error is not believed about single machines either.
 */
function isWorthReading(trouble: Fault | undefined): boolean {
  if (trouble === undefined) return true;
  return trouble.code === "Unavailable" && trouble.status === undefined && trouble.transient !== true;
}

function idsOf(queries: readonly Query[]): Set<string> {
  return new Set(queries.flatMap((query) => (query.kind === "id" ? [query.id] : [])));
}

interface Looked<M extends Machine> {
  readonly node: Queried;
  readonly query: Query;
  readonly match: Match<M> | undefined;
  readonly answer: Outcome<M | undefined> | undefined;
  readonly trouble: Fault | undefined;
}

function resolutionOf<M extends Machine>(
  { node, query, match, answer, trouble }: Looked<M>,
  notOurs: NotOurs<M>,
): Resolution<M> {
  if (answer?.kind === "fault") return answer;
  if (answer !== undefined)
    return answer.value === undefined ? { kind: "absent", by: "id" } : matchOf(answer.value, node, notOurs);
  if (match !== undefined && !(isOfOthers(match) && isSought(query))) return match;
  if (trouble !== undefined) return { kind: "fault", fault: trouble };
  if (match !== undefined || query.kind !== "name") return match ?? UNTOLD;
  return { kind: "absent", by: "name" };
}

/** Nothing is known to come here; but an id is gone by the cloud's word alone. */
const UNTOLD: Resolution<never> = {
  kind: "fault",
  fault: { code: "Unavailable", message: "neither a list nor a read has told of it" },
};
