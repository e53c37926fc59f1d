import type { Turn } from "#clouds/http/api.ts";
import { type Meter, meterOfFirst } from "#clouds/http/meter.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { unlessAborted } from "#clouds/http/unless-aborted.ts";
import { ok } from "#clouds/outcome.ts";

/** What a list showed, and when it began, in milliseconds of a clock that never goes back. */
export interface Listed<Value> {
  readonly startedAt: number;
  readonly value: Value;
}

/** Lists of one sort by key, shared by all who need them: of each key one is in flight at a time, and the last is kept. */
export interface KeptLists<Value> {
  /** The last one, where it began at `since` or later. */
  recent(key: string, since: number): Listed<Value> | undefined;
  /** One that began at `since` or later: the last one, the one in flight, or a new one. */
  get(key: string, turn: Turn, since: number): Promise<Outcome<Listed<Value>>>;
}

/** However many keys a configuration may lead to. */
const MAX_KEPT = 200;

/** `fetch` sends the requests; it never rejects. */
export function createKeptLists<Value>(
  fetch: (key: string, turn: Turn) => Promise<Outcome<Value>>,
  now: () => number,
): KeptLists<Value> {
  const kept = new Map<string, Listed<Value>>();
  const flights = new Map<string, Flight<Value>>();

  const land = (key: string, flight: Flight<Value>): void => {
    if (flights.get(key) === flight) flights.delete(key);
  };

  function takeOff(key: string, meter: Meter): Flight<Value> {
    const abort = new AbortController();
    const waiting = new Set([meter]);
    const startedAt = now();
    const landing = fetch(key, { signal: abort.signal, meter: meterOfFirst(waiting) });
    const flight = { abort, waiting, startedAt, landing };
    void landing.then(() => land(key, flight));
    flights.set(key, flight);
    return flight;
  }

  function keep(key: string, listed: Listed<Value>): void {
    kept.delete(key);
    kept.set(key, listed);
    for (const oldest of kept.keys()) {
      if (kept.size <= MAX_KEPT) break;
      kept.delete(oldest);
    }
  }

  const recent = (key: string, since: number): Listed<Value> | undefined => {
    const listed = kept.get(key);
    return listed !== undefined && listed.startedAt >= since ? listed : undefined;
  };

  return {
    recent,
    async get(key, { signal, meter }, since) {
      const there = recent(key, since);
      if (there !== undefined) return ok(there);
      if (signal.aborted) return { kind: "fault", fault: ABORTED };
      const flying = flights.get(key);
      const joined = flying !== undefined && flying.startedAt >= since ? flying : takeOff(key, meter);
      joined.waiting.add(meter);
      try {
        const outcome = await unlessAborted(joined.landing, signal);
        if (outcome === undefined) return { kind: "fault", fault: ABORTED };
        if (outcome.kind === "fault") return outcome;
        const listed = { startedAt: joined.startedAt, value: outcome.value };
        if ((kept.get(key)?.startedAt ?? Number.NEGATIVE_INFINITY) <= listed.startedAt) keep(key, listed);
        return ok(listed);
      } finally {
        joined.waiting.delete(meter);
        if (joined.waiting.size === 0) {
          // What nobody waits for is not asked for any further, and nobody may join it.
          land(key, joined);
          joined.abort.abort();
        }
      }
    },
  };
}

interface Flight<Value> {
  readonly abort: AbortController;
  /** The meters of those who wait for it, in the order in which they came. */
  readonly waiting: Set<Meter>;
  readonly startedAt: number;
  readonly landing: Promise<Outcome<Value>>;
}

const ABORTED: Fault = { code: "Aborted", message: "aborted before a list was answered" };
