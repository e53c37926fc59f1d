import type { CallContext } from "#clouds/http/call-context.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { createSharedFlight } from "#clouds/http/shared-flight.ts";
import { ok } from "#clouds/outcome.ts";

/** The part of a list that is needed here. */
interface ShownList {
  readonly startedAt: number;
  /** Why it may be incomplete, if so. */
  readonly incomplete: Fault | undefined;
  readonly byId: ReadonlyMap<string, unknown>;
}

/** One list of machines, shared by all callers: at most one read at a time, cached for a while. */
export interface Directory<List extends ShownList> {
  /** Returns the last listing while it is valid. */
  getRecent(): List | undefined;
  /** Returns the current read, which may have begun before this call, or a new one. */
  list(callContext: CallContext): Promise<Outcome<List>>;
}

/**
 * Creates a directory. `fetch` sends the requests and never rejects. `now` is a monotonic clock in
 * milliseconds.
 */
export function createDirectory<List extends ShownList>(
  fetch: (callContext: CallContext) => Promise<List>,
  maxAgeMs: number,
  now: () => number,
): Directory<List> {
  let latest: List | undefined;
  const invocation = createSharedFlight(fetch);

  const recent = (): List | undefined =>
    latest !== undefined && now() - latest.startedAt < maxAgeMs ? latest : undefined;

  return {
    getRecent: recent,
    async list(callContext) {
      const listing = await invocation.join(callContext);
      if (listing === undefined) return { kind: "fault", fault: ABORTED };
      // An incomplete list is better than none, but does not replace a complete one.
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
