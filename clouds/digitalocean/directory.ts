import type { Listing } from "#clouds/digitalocean/listing.ts";
import type { Turn } from "#clouds/http/api.ts";
import type { Meter } from "#clouds/http/meter.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { ok } from "#clouds/outcome.ts";

/** One list of droplets, shared by all who need it: one is in flight at a time, and it is remembered for a while. */
export interface Directory {
  /** The last listing, as long as it may be believed. */
  recent(): Listing | undefined;
  /** The listing in flight, which may have begun before this call, or else a new one. */
  list(turn: Turn): Promise<Outcome<Listing>>;
}

/** `fetch` sends the requests; it never rejects. `now` is milliseconds of a clock that never goes back. */
export function createDirectory(
  fetch: (turn: Turn) => Promise<Listing>,
  maxAgeMs: number,
  now: () => number,
): Directory {
  let latest: Listing | undefined;
  let flight: Flight | undefined;

  const takeOff = (meter: Meter): Flight => {
    const abort = new AbortController();
    const waiting = new Set([meter]);
    const started: Flight = {
      abort,
      waiting,
      landing: fetch({ signal: abort.signal, meter: shared(waiting) }).finally(() => {
        if (flight === started) flight = undefined;
      }),
    };
    flight = started;
    return started;
  };

  return {
    recent: () => (latest !== undefined && now() - latest.startedAt < maxAgeMs ? latest : undefined),
    async list({ signal, meter }) {
      if (signal.aborted) return { kind: "fault", fault: ABORTED };
      const joined = flight ?? takeOff(meter);
      joined.waiting.add(meter);
      try {
        const listing = await unlessAborted(joined.landing, signal);
        if (listing === undefined) return { kind: "fault", fault: ABORTED };
        // Half a list is better than none, and worse than a whole one.
        if (listing.incomplete === undefined || listing.byId.size > 0) latest = listing;
        return ok(listing);
      } finally {
        joined.waiting.delete(meter);
        if (joined.waiting.size === 0) {
          // What nobody waits for is not asked for any further, and nobody may join it.
          if (flight === joined) flight = undefined;
          joined.abort.abort();
        }
      }
    },
  };
}

interface Flight {
  readonly abort: AbortController;
  /** The meters of those who wait for it, in the order in which they came. */
  readonly waiting: Set<Meter>;
  readonly landing: Promise<Listing>;
}

const ABORTED: Fault = { code: "Aborted", message: "GET /v2/droplets: aborted before it was answered" };

/** Each request is counted once, for the first of those who wait at that time. */
function shared(waiting: ReadonlySet<Meter>): Meter {
  const first = (): Meter | undefined => waiting.values().next().value;
  return {
    called: (operation) => first()?.called(operation),
    throttled: () => first()?.throttled(),
    waited: (ms) => first()?.waited(ms),
    ended: (request) => first()?.ended(request),
  };
}

/** Resolves with undefined as soon as the signal aborts. */
function unlessAborted<Value>(value: Promise<Value>, signal: AbortSignal): Promise<Value | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const abort = (): void => resolve(undefined);
  signal.addEventListener("abort", abort, { once: true });
  return Promise.race([value, promise]).finally(() => signal.removeEventListener("abort", abort));
}
