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
}

/** Indexes what was listed; a machine that moved from page to page meanwhile counts once. */
export function createListing<M extends Machine>(
  parts: Pick<Listing<M>, "startedAt" | "pages" | "incomplete"> & { readonly machines: readonly M[] },
): Listing<M> {
  const { machines, ...rest } = parts;
  const byId = new Map(machines.map((machine) => [machine.id, machine]));
  return { ...rest, byId, byName: Map.groupBy(byId.values(), ({ name }) => name) };
}
