import type { Turn } from "#clouds/http/api.ts";
import { type Meter, meterOfFirst } from "#clouds/http/meter.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { unlessAborted } from "#clouds/http/unless-aborted.ts";
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
  let flight: Flight<List> | undefined;

  const takeOff = (meter: Meter): Flight<List> => {
    const abort = new AbortController();
    const waiting = new Set([meter]);
    const started: Flight<List> = {
      abort,
      waiting,
      landing: fetch({ signal: abort.signal, meter: meterOfFirst(waiting) }).finally(() => {
        if (flight === started) flight = undefined;
      }),
    };
    flight = started;
    return started;
  };

  const recent = (): List | undefined =>
    latest !== undefined && now() - latest.startedAt < maxAgeMs ? latest : undefined;

  return {
    recent,
    async list({ signal, meter }) {
      if (signal.aborted) return { kind: "fault", fault: ABORTED };
      const joined = flight ?? takeOff(meter);
      joined.waiting.add(meter);
      try {
        const listing = await unlessAborted(joined.landing, signal);
        if (listing === undefined) return { kind: "fault", fault: ABORTED };
        // Half a list is better than none, and worse than a whole one.
        const isHalf = listing.incomplete !== undefined;
        if (!isHalf || (listing.byId.size > 0 && recent() === undefined)) latest = listing;
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

interface Flight<List extends Shown> {
  readonly abort: AbortController;
  /** The meters of those who wait for it, in the order in which they came. */
  readonly waiting: Set<Meter>;
  readonly landing: Promise<List>;
}

const ABORTED: Fault = {
  code: "Aborted",
  message: "a list of the cloud's machines: aborted before it was whole",
};
