import type { Droplet } from "#clouds/digitalocean/droplet.ts";
import type { Fault } from "#clouds/http/outcome.ts";

/** The droplets that a list showed. It proves that they are there; that one is not there it never proves. */
export interface Listing {
  /** When it began, in milliseconds of a clock that never goes back. */
  readonly startedAt: number;
  /** How many pages it has. */
  readonly pages: number;
  /** Why it may lack something, where it does. */
  readonly incomplete: Fault | undefined;
  readonly byId: ReadonlyMap<string, Droplet>;
  readonly byName: ReadonlyMap<string, readonly Droplet[]>;
  /** By IPv4 address, private or public. IPv6 needs no place here: no node can be named so. */
  readonly byAddress: ReadonlyMap<string, readonly Droplet[]>;
}

/** Indexes what was listed; a droplet that moved from page to page meanwhile counts once. */
export function createListing(
  parts: Pick<Listing, "startedAt" | "pages" | "incomplete"> & { readonly droplets: readonly Droplet[] },
): Listing {
  const { droplets, ...rest } = parts;
  const byId = new Map(droplets.map((droplet) => [droplet.id, droplet]));
  const unique = [...byId.values()];
  return {
    ...rest,
    byId,
    byName: indexed(unique, ({ name }) => [name]),
    byAddress: indexed(unique, ({ networks }) => [...new Set(networks?.v4.map((each) => each.ip_address))]),
  };
}

function indexed(
  droplets: readonly Droplet[],
  keysOf: (droplet: Droplet) => readonly string[],
): ReadonlyMap<string, readonly Droplet[]> {
  const index = new Map<string, Droplet[]>();
  for (const droplet of droplets) {
    for (const key of keysOf(droplet)) {
      const there = index.get(key);
      if (there === undefined) index.set(key, [droplet]);
      else there.push(droplet);
    }
  }
  return index;
}
