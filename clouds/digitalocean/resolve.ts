import type { Ownership } from "#clouds/digitalocean/belonging.ts";
import type { Droplet } from "#clouds/digitalocean/droplet.ts";
import type { Listing } from "#clouds/digitalocean/listing.ts";
import { type Queried, type Query, queryOf } from "#clouds/digitalocean/query.ts";
import type { Reads } from "#clouds/digitalocean/reads.ts";
import { lookUp, type Match, matchOf } from "#clouds/digitalocean/view.ts";
import type { Turn } from "#clouds/http/api.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import type { Directory } from "#clouds/listed/directory.ts";

/** Where droplets are looked for. */
export interface Sources {
  /** All droplets but those with GPUs, which the API lists apart. */
  readonly droplets: Directory<Listing>;
  readonly gpuDroplets: Directory<Listing>;
  readonly reads: Reads;
  readonly now: () => number;
}

/** What became of each node; "absent" is the API's own statement. */
export type Resolution = Match | { readonly kind: "absent"; readonly message: string };

/**
 * Finds out what each node of a batch is. First what lately was listed tells; then a list, where names or more than a few ids
 * are left; then a list of GPU droplets, if still so; and last the ids one by one, which alone shows that one is gone.
 */
export async function resolve<Subject extends Queried>(
  nodes: readonly Subject[],
  sources: Sources,
  ownership: Ownership,
  turn: Turn,
): Promise<ReadonlyMap<Subject, Resolution>> {
  const { droplets, gpuDroplets, reads, now } = sources;
  const beganAt = now();
  const queries = new Map(nodes.map((node) => [node, queryOf(node)]));
  const listings = new Map<Directory<Listing>, Listing>();
  const troubles = new Map<Directory<Listing>, Fault>();

  const view = (): Listing[] =>
    [droplets, gpuDroplets].flatMap((directory) => listings.get(directory) ?? directory.recent() ?? []);
  const left = (): Query[] => {
    const seen = view();
    return [...queries.values()].filter((query) => !isSettled(query, seen, ownership, beganAt));
  };
  const needsList = (): boolean => {
    const open = left();
    return open.some(({ kind }) => kind === "name") || !reads.isCheaperFor(idsOf(open).size, view());
  };

  for (const directory of [droplets, gpuDroplets]) {
    // Whoever joins a list that had begun before him does not know of what came since, and once more is enough.
    for (let round = 0; round < 2 && needsList() && !isFresh(listings.get(directory), beganAt); round += 1) {
      const listed = await directory.list(turn);
      if (listed.kind === "ok") listings.set(directory, listed.value);
      const trouble = listed.kind === "ok" ? listed.value.incomplete : listed.fault;
      if (trouble === undefined) continue;
      troubles.set(directory, trouble);
      break;
    }
    if (troubles.size > 0) break;
  }
  const [fault] = troubles.values();
  const read = isWorthReading(troubles.get(droplets)) ? await reads.readAll(idsOf(left()), turn) : new Map();
  const seen = view();
  return new Map(
    [...queries].map(([node, query]) => [node, resolutionOf(query, seen, read, fault, ownership)]),
  );
}

/**
 * A listing from before shows that a droplet is the cluster's. One that is not is looked for as long as one that is not there: how
 * long an answer takes must not tell a node that names it that there is such a droplet.
 */
function isSettled(query: Query, view: readonly Listing[], ownership: Ownership, beganAt: number): boolean {
  const match = lookUp(query, view, ownership);
  if (match === undefined || isOfOthers(match)) return false;
  if (match.kind === "droplet" || (query.kind !== "id" && query.kind !== "name")) return true;
  return view.every((listing) => isFresh(listing, beganAt));
}

function isFresh(listing: Listing | undefined, beganAt: number): boolean {
  return listing !== undefined && listing.startedAt >= beganAt;
}

/**
 * Where the API is in trouble as a whole, a batch is not taken apart; where a list came and was of no use, ids are still
 * read. A server that answers a list with an error is not believed about single droplets either.
 */
function isWorthReading(trouble: Fault | undefined): boolean {
  if (trouble === undefined) return true;
  return trouble.code === "Unavailable" && trouble.status === undefined && trouble.transient !== true;
}

function idsOf(queries: readonly Query[]): Set<string> {
  return new Set(queries.flatMap((query) => (query.kind === "id" ? [query.id] : [])));
}

function resolutionOf(
  query: Query,
  view: readonly Listing[],
  read: ReadonlyMap<string, Outcome<Droplet | undefined>>,
  fault: Fault | undefined,
  ownership: Ownership,
): Resolution {
  const answer = query.kind === "id" ? read.get(query.id) : undefined;
  if (answer?.kind === "fault") return answer;
  if (answer !== undefined) {
    if (answer.value !== undefined) return matchOf(answer.value, ownership);
    return { kind: "absent", message: "DigitalOcean has no such droplet" };
  }
  const match = lookUp(query, view, ownership);
  if (match !== undefined && !isOfOthers(match)) return match;
  if (fault !== undefined) return { kind: "fault", fault };
  return match ?? { kind: "absent", message: "DigitalOcean lists no droplet of that name or address" };
}

/** Whether a droplet was found that is not the cluster's, or not known to be. */
function isOfOthers(match: Match): boolean {
  return match.kind === "fault" && (match.fault.code === "Foreign" || match.fault.code === "Denied");
}
