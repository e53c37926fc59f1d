import type { Fault } from "#clouds/http/outcome.ts";
import type { Machine } from "#clouds/listed/machine.ts";

/** The machines that a list showed. It proves that they are there; that one is not there it never proves. */
export interface Listing<M extends Machine> {
  /** When it began, in milliseconds of a clock that never goes back. */
  readonly startedAt: number;
  /** How many pages it has. */
  readonly pages: number;
  /** Why it may lack something, where it does. */
  readonly incomplete: Fault | undefined;
  readonly byId: ReadonlyMap<string, M>;
  readonly byName: ReadonlyMap<string, readonly M[]>;
  /** By an address that may be a node's name; empty of a cloud where none can. */
  readonly byAddress: ReadonlyMap<string, readonly M[]>;
}

/** What a listing is made of. */
export interface ListingParts<M extends Machine>
  extends Pick<Listing<M>, "startedAt" | "pages" | "incomplete"> {
  readonly machines: readonly M[];
  readonly addressesOf?: (machine: M) => readonly string[];
}

/** Indexes what was listed; a machine that moved from page to page meanwhile counts once. */
export function createListing<M extends Machine>({
  machines,
  addressesOf = () => [],
  ...rest
}: ListingParts<M>): Listing<M> {
  const byId = new Map(machines.map((machine) => [machine.id, machine]));
  const unique = [...byId.values()];
  const addressed = unique.flatMap((machine) =>
    [...new Set(addressesOf(machine))].map((address) => ({ address, machine })),
  );
  return {
    ...rest,
    byId,
    byName: Map.groupBy(unique, ({ name }) => name),
    byAddress: new Map(
      [...Map.groupBy(addressed, ({ address }) => address)].map(([address, those]) => [
        address,
        those.map(({ machine }) => machine),
      ]),
    ),
  };
}
