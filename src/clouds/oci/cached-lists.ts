import { type CallContext, createSharedMeter, type Meter } from "#clouds/http/meter.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { raceAbort } from "#clouds/http/shared-run.ts";
import { ok } from "#clouds/outcome.ts";

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
  const reads = new Map<string, ListRead<Value>>();

  const endRead = (key: string, read: ListRead<Value>): void => {
    if (reads.get(key) === read) reads.delete(key);
  };

  function startRead(key: string, meter: Meter): ListRead<Value> {
    const abort = new AbortController();
    const waiting = new Set([meter]);
    const startedAt = now();
    const outcome = fetch(key, { signal: abort.signal, meter: createSharedMeter(waiting) });
    const read = { abort, waiting, startedAt, outcome };
    void outcome.then(() => endRead(key, read));
    reads.set(key, read);
    return read;
  }

  function store(key: string, listed: ListReading<Value>): void {
    cache.delete(key);
    cache.set(key, listed);
    for (const oldest of cache.keys()) {
      if (cache.size <= MAX_CACHED) break;
      cache.delete(oldest);
    }
  }

  const getRecent = (key: string, since: number): ListReading<Value> | undefined => {
    const listed = cache.get(key);
    return listed !== undefined && listed.startedAt >= since ? listed : undefined;
  };

  return {
    getRecent,
    async get(key, { signal, meter }, since) {
      const recent = getRecent(key, since);
      if (recent !== undefined) return ok(recent);
      if (signal.aborted) return { kind: "fault", fault: ABORTED };
      const current = reads.get(key);
      const joined = current !== undefined && current.startedAt >= since ? current : startRead(key, meter);
      joined.waiting.add(meter);
      try {
        const result = await raceAbort(joined.outcome, signal);
        if (result === undefined) return { kind: "fault", fault: ABORTED };
        if (result.kind === "fault") return result;
        const listed = { startedAt: joined.startedAt, value: result.value };
        if ((cache.get(key)?.startedAt ?? Number.NEGATIVE_INFINITY) <= listed.startedAt) store(key, listed);
        return ok(listed);
      } finally {
        joined.waiting.delete(meter);
        if (joined.waiting.size === 0) {
          // A read without waiting callers is aborted, and later callers do not join it.
          endRead(key, joined);
          joined.abort.abort();
        }
      }
    },
  };
}

interface ListRead<Value> {
  readonly abort: AbortController;
  /** The meters of the waiting callers, in order of arrival. */
  readonly waiting: Set<Meter>;
  readonly startedAt: number;
  readonly outcome: Promise<Outcome<Value>>;
}

const ABORTED: Fault = { code: "Aborted", message: "aborted before a list was answered" };
