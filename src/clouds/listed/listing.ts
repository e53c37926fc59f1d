import type { Fault } from "#clouds/http/outcome.ts";
import type { Machine } from "#clouds/listed/query.ts";

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
