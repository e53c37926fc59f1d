import { notOurs, type Ownership } from "#clouds/digitalocean/belonging.ts";
import type { Droplet } from "#clouds/digitalocean/droplet.ts";
import type { Listing } from "#clouds/digitalocean/listing.ts";
import type { Query } from "#clouds/digitalocean/query.ts";
import type { Fault } from "#clouds/http/outcome.ts";

/** What a node was found to be. */
export type Match =
  /** `guess` where it was less than identity that told. */
  | { readonly kind: "droplet"; readonly droplet: Droplet; readonly guess: boolean }
  | { readonly kind: "fault"; readonly fault: Fault };

/** Looks a query up in listings; undefined where they cannot tell, which is never because of absence alone. */
export function lookUp(query: Query, listings: readonly Listing[], ownership: Ownership): Match | undefined {
  switch (query.kind) {
    case "foreign":
      return { kind: "fault", fault: { code: "ForeignProviderID", message: query.message } };
    case "invalid":
      return { kind: "fault", fault: { code: "InvalidProviderID", message: query.message } };
    case "id": {
      const droplet = listings.map(({ byId }) => byId.get(query.id)).find((each) => each !== undefined);
      return droplet && matchOf(droplet, ownership);
    }
    case "name":
      return lookUpName(query.name, listings, ownership);
  }
}

/** A droplet that was found by itself. */
export function matchOf(droplet: Droplet, ownership: Ownership): Match {
  const fault = notOurs(ownership, droplet);
  return fault === undefined ? { kind: "droplet", droplet, guess: false } : { kind: "fault", fault };
}

/**
 * By the droplet's exact name; else by an address that is the node's name, for which only the cluster's own droplets are
 * looked at, as other VPCs may well use the same addresses. Half a list tells nothing: a second of that name may be in the
 * other half.
 */
function lookUpName(name: string, listings: readonly Listing[], ownership: Ownership): Match | undefined {
  const whole = listings.filter(({ incomplete }) => incomplete === undefined);
  const named = unique(whole.flatMap(({ byName }) => byName.get(name) ?? []));
  const byName = oneOf(ours(named, ownership), false);
  if (byName !== undefined) return byName;
  const addressed = unique(whole.flatMap(({ byAddress }) => byAddress.get(name) ?? []));
  const byAddress = oneOf(ours(addressed, ownership), true);
  if (byAddress !== undefined) return byAddress;
  const [foreign] = named;
  return foreign && matchOf(foreign, ownership);
}

function oneOf(candidates: readonly Droplet[], guess: boolean): Match | undefined {
  const [droplet, second] = candidates;
  if (droplet === undefined) return undefined;
  if (second === undefined) return { kind: "droplet", droplet, guess };
  const ids = candidates.map(({ id }) => id).toSorted();
  const message = `${ids.length} droplets answer to it, ${ids.slice(0, 5).join(", ")}`;
  return { kind: "fault", fault: { code: "Ambiguous", message } };
}

function ours(droplets: readonly Droplet[], ownership: Ownership): readonly Droplet[] {
  return droplets.filter((droplet) => notOurs(ownership, droplet) === undefined);
}

function unique(droplets: readonly Droplet[]): readonly Droplet[] {
  return [...new Map(droplets.map((droplet) => [droplet.id, droplet])).values()];
}
