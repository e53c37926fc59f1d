import type { CallContext } from "#clouds/http/meter.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { createSharedRun } from "#clouds/http/shared-run.ts";
import { ok } from "#clouds/outcome.ts";

/** The part of a list that is needed here. */
interface DatedList {
  readonly startedAt: number;
  /** Why it may be incomplete, if so. */
  readonly incomplete: Fault | undefined;
  readonly byId: ReadonlyMap<string, unknown>;
}

/** One list of machines, shared by all callers: at most one read at a time, cached for a while. */
export interface Directory<List extends DatedList> {
  /** Returns the last listing while it is valid. */
  getRecent(): List | undefined;
  /** Returns the current read, which may have begun before this call, or a new one. */
  list(callContext: CallContext): Promise<Outcome<List>>;
}

/**
 * Creates a directory. `fetch` sends the requests and never rejects. `now` is a monotonic clock in
 * milliseconds.
 */
export function createDirectory<List extends DatedList>(
  fetch: (callContext: CallContext) => Promise<List>,
  maxAgeMs: number,
  now: () => number,
): Directory<List> {
  let latest: List | undefined;
  const sharedRun = createSharedRun(fetch);

  const getRecent = (): List | undefined =>
    latest !== undefined && now() - latest.startedAt < maxAgeMs ? latest : undefined;

  return {
    getRecent,
    async list(callContext) {
      const listing = await sharedRun.join(callContext);
      if (listing === undefined) return { kind: "fault", fault: ABORTED };
      // An incomplete list is better than none, but does not replace a complete one.
      const isIncomplete = listing.incomplete !== undefined;
      if (!isIncomplete || (listing.byId.size > 0 && getRecent() === undefined)) latest = listing;
      return ok(listing);
    },
  };
}

const ABORTED: Fault = {
  code: "Aborted",
  message: "a list of the cloud's machines: aborted before it was complete",
};
