import type { Turn } from "#clouds/http/api.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { createSharedFlight } from "#clouds/http/shared-flight.ts";
import { ok } from "#clouds/outcome.ts";

/** What of a list has to be known here. */
interface Shown {
  readonly startedAt: number;
  /** Why it may lack something, where it does. */
  readonly incomplete: Fault | undefined;
  readonly byId: ReadonlyMap<string, unknown>;
}

/** One list of machines, shared by all who need it: one is in flight at a time, and it is remembered for a while. */
export interface Directory<List extends Shown> {
  /** The last listing, as long as it may be believed. */
  recent(): List | undefined;
  /** The listing in flight, which may have begun before this call, or else a new one. */
  list(turn: Turn): Promise<Outcome<List>>;
}

/** `fetch` sends the requests; it never rejects. `now` is milliseconds of a clock that never goes back. */
export function createDirectory<List extends Shown>(
  fetch: (turn: Turn) => Promise<List>,
  maxAgeMs: number,
  now: () => number,
): Directory<List> {
  let latest: List | undefined;
  const flight = createSharedFlight(fetch);

  const recent = (): List | undefined =>
    latest !== undefined && now() - latest.startedAt < maxAgeMs ? latest : undefined;

  return {
    recent,
    async list(turn) {
      const listing = await flight.join(turn);
      if (listing === undefined) return { kind: "fault", fault: ABORTED };
      // Half a list is better than none, and worse than a whole one.
      const isHalf = listing.incomplete !== undefined;
      if (!isHalf || (listing.byId.size > 0 && recent() === undefined)) latest = listing;
      return ok(listing);
    },
  };
}

const ABORTED: Fault = {
  code: "Aborted",
  message: "a list of the cloud's machines: aborted before it was whole",
};
