import { type CallContext, createMeteredFlight } from "#clouds/http/meter.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import type { SingleFlight } from "#clouds/http/single-flight.ts";
import { ok } from "#clouds/outcome.ts";
import { setNewest } from "#core/bounded-map.ts";

/** The content of a list, and its start in milliseconds of a monotonic clock. */
export interface ListReading<Value> {
  readonly startedAt: number;
  readonly value: Value;
}

/**
 * Lists of one type by key, shared by all callers: for each key, one read at a time, and the last list is
 * cached.
 */
export interface CachedLists<Value> {
  /** Returns the last list if it began at `since` or later. */
  getRecent(key: string, since: number): ListReading<Value> | undefined;
  /** Returns a list that began at `since` or later: the last one, the current read, or a new one. */
  get(key: string, callContext: CallContext, since: number): Promise<Outcome<ListReading<Value>>>;
}

/** Maximum cached lists, however many keys a configuration leads to. */
const MAX_CACHED = 200;

/** `fetch` sends the requests and never rejects. */
export function createCachedLists<Value>(
  fetch: (key: string, callContext: CallContext) => Promise<Outcome<Value>>,
  now: () => number,
): CachedLists<Value> {
  const cache = new Map<string, ListReading<Value>>();
  const reads = new Map<string, SingleFlight<CallContext, ListRead<Value>>>();

  function getReads(key: string): SingleFlight<CallContext, ListRead<Value>> {
    const known = reads.get(key);
    if (known !== undefined) return known;
    const created = createMeteredFlight(async (callContext): Promise<ListRead<Value>> => {
      const startedAt = now();
      return { startedAt, outcome: await fetch(key, callContext) };
    }, now);
    reads.set(key, created);
    return created;
  }

  const getRecent = (key: string, since: number): ListReading<Value> | undefined => {
    const listed = cache.get(key);
    return listed !== undefined && listed.startedAt >= since ? listed : undefined;
  };

  return {
    getRecent,
    async get(key, callContext, since) {
      const recent = getRecent(key, since);
      if (recent !== undefined) return ok(recent);
      const flight = getReads(key);
      const read = await flight.join(callContext, since);
      if (!flight.isRunning() && reads.get(key) === flight) reads.delete(key);
      if (read === undefined) return { kind: "fault", fault: ABORTED };
      const { startedAt, outcome } = read;
      if (outcome.kind === "fault") return outcome;
      const listed = { startedAt, value: outcome.value };
      if ((cache.get(key)?.startedAt ?? Number.NEGATIVE_INFINITY) <= startedAt)
        setNewest(cache, key, listed, MAX_CACHED);
      return ok(listed);
    },
  };
}

interface ListRead<Value> {
  readonly startedAt: number;
  readonly outcome: Outcome<Value>;
}

const ABORTED: Fault = { code: "Aborted", message: "aborted before a list was answered" };
