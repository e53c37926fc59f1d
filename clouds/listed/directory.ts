import type { Turn } from "#clouds/http/api.ts";
import type { Meter } from "#clouds/http/meter.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import type { Listing } from "#clouds/listed/listing.ts";
import type { Machine } from "#clouds/listed/machine.ts";
import { ok } from "#clouds/outcome.ts";

/** One list of machines, shared by all who need it: one is in flight at a time, and it is remembered for a while. */
export interface Directory<M extends Machine> {
  /** The last listing, as long as it may be believed. */
  recent(): Listing<M> | undefined;
  /** The listing in flight, which may have begun before this call, or else a new one. */
  list(turn: Turn): Promise<Outcome<Listing<M>>>;
}

/** `fetch` sends the requests; it never rejects. `now` is milliseconds of a clock that never goes back. */
export function createDirectory<M extends Machine>(
  fetch: (turn: Turn) => Promise<Listing<M>>,
  maxAgeMs: number,
  now: () => number,
): Directory<M> {
  let latest: Listing<M> | undefined;
  let flight: Flight<M> | undefined;

  const takeOff = (meter: Meter): Flight<M> => {
    const abort = new AbortController();
    const waiting = new Set([meter]);
    const started: Flight<M> = {
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

interface Flight<M extends Machine> {
  readonly abort: AbortController;
  /** The meters of those who wait for it, in the order in which they came. */
  readonly waiting: Set<Meter>;
  readonly landing: Promise<Listing<M>>;
}

const ABORTED: Fault = {
  code: "Aborted",
  message: "a list of the cloud's machines: aborted before it was whole",
};

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
export function unlessAborted<Value>(value: Promise<Value>, signal: AbortSignal): Promise<Value | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const abort = (): void => resolve(undefined);
  signal.addEventListener("abort", abort, { once: true });
  return Promise.race([value, promise]).finally(() => signal.removeEventListener("abort", abort));
}
