import type { Fault } from "#clouds/http/outcome.ts";
import type { Machine, Queried } from "#clouds/listed/query.ts";

/** The machines in a list. It proves that they exist, but never that others do not. */
export interface Listing<M extends Machine> {
  /** When it began, in milliseconds of a monotonic clock. */
  readonly startedAt: number;
  /** Its number of pages. */
  readonly pages: number;
  /** Why it may be incomplete, if so. */
  readonly incomplete: Fault | undefined;
  readonly byId: ReadonlyMap<string, M>;
  readonly byName: ReadonlyMap<string, readonly M[]>;
  /** By an address that may be a node's name; empty if the cloud has no such names. */
  readonly byAddress: ReadonlyMap<string, readonly M[]>;
}

/** Parts of which a listing is built. */
export interface ListingParts<M extends Machine>
  extends Pick<Listing<M>, "startedAt" | "pages" | "incomplete"> {
  readonly machines: readonly M[];
  readonly listAddresses?: (machine: M) => readonly string[];
}

/** Indexes the listed machines; one that moved between pages meanwhile counts once. */
export function createListing<M extends Machine>({
  machines,
  listAddresses = () => [],
  ...rest
}: ListingParts<M>): Listing<M> {
  const byId = new Map(machines.map((machine) => [machine.id, machine]));
  const unique = [...byId.values()];
  const addressed = unique.flatMap((machine) =>
    [...new Set(listAddresses(machine))].map((address) => ({ address, machine })),
  );
  return {
    ...rest,
    byId,
    byName: Map.groupBy(unique, ({ name }) => name),
    byAddress: new Map(
      [...Map.groupBy(addressed, ({ address }) => address)].map(([address, entries]) => [
        address,
        entries.map(({ machine }) => machine),
      ]),
    ),
  };
}

/** The machine found for a node; `guess` if it matched by less than identity. */
export interface Claim {
  readonly id: string;
  readonly guess: boolean;
}

/** A failed resolution. */
interface FailedResolution {
  readonly kind: "fault";
  readonly fault: Fault;
}

/**
 * Drops guesses that another node's claim to the same machine disproves. `buildClaim` returns the claim of a
 * resolution, and `machine` is the cloud's own word for one.
 */
export function settleGuesses<Node extends Queried, Resolution>(
  resolutions: ReadonlyMap<Node, Resolution>,
  buildClaim: (resolution: Resolution) => Claim | undefined,
  machine: string,
): ReadonlyMap<Node, Resolution | FailedResolution> {
  const claims = new Map<string, string[]>();
  for (const [{ metadata }, resolution] of resolutions) {
    const claim = buildClaim(resolution);
    if (claim === undefined) continue;
    const names = claims.get(claim.id);
    if (names === undefined) claims.set(claim.id, [metadata.name]);
    else names.push(metadata.name);
  }
  return new Map(
    [...resolutions].map(([node, resolution]): [Node, Resolution | FailedResolution] => {
      const claim = buildClaim(resolution);
      const names = claim?.guess === true ? (claims.get(claim.id) ?? []) : [];
      if (claim === undefined || names.length < 2) return [node, resolution];
      const message = `${machine} ${claim.id} is claimed by ${names.toSorted().slice(0, 5).join(" and ")}`;
      return [node, { kind: "fault", fault: { code: "Ambiguous", message } }];
    }),
  );
}
