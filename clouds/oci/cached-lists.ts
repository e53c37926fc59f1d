import type { CallContext } from "#clouds/http/call-context.ts";
import { createSharedMeter, type Meter } from "#clouds/http/meter.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { raceAbort } from "#clouds/http/race-abort.ts";
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
  get(key: string, turn: CallContext, since: number): Promise<Outcome<ListReading<Value>>>;
}

/** Maximum cached lists, however many keys a configuration leads to. */
const MAX_KEPT = 200;

/** `fetch` sends the requests and never rejects. */
export function createCachedLists<Value>(
  fetch: (key: string, turn: CallContext) => Promise<Outcome<Value>>,
  now: () => number,
): CachedLists<Value> {
  const kept = new Map<string, ListReading<Value>>();
  const invocations = new Map<string, Flight<Value>>();

  const land = (key: string, invocation: Flight<Value>): void => {
    if (invocations.get(key) === invocation) invocations.delete(key);
  };

  function takeOff(key: string, meter: Meter): Flight<Value> {
    const abort = new AbortController();
    const waiting = new Set([meter]);
    const startedAt = now();
    const landing = fetch(key, { signal: abort.signal, meter: createSharedMeter(waiting) });
    const invocation = { abort, waiting, startedAt, landing };
    void landing.then(() => land(key, invocation));
    invocations.set(key, invocation);
    return invocation;
  }

  function keep(key: string, listed: ListReading<Value>): void {
    kept.delete(key);
    kept.set(key, listed);
    for (const oldest of kept.keys()) {
      if (kept.size <= MAX_KEPT) break;
      kept.delete(oldest);
    }
  }

  const recent = (key: string, since: number): ListReading<Value> | undefined => {
    const listed = kept.get(key);
    return listed !== undefined && listed.startedAt >= since ? listed : undefined;
  };

  return {
    getRecent: recent,
    async get(key, { signal, meter }, since) {
      const there = recent(key, since);
      if (there !== undefined) return ok(there);
      if (signal.aborted) return { kind: "fault", fault: ABORTED };
      const flying = invocations.get(key);
      const joined = flying !== undefined && flying.startedAt >= since ? flying : takeOff(key, meter);
      joined.waiting.add(meter);
      try {
        const outcome = await raceAbort(joined.landing, signal);
        if (outcome === undefined) return { kind: "fault", fault: ABORTED };
        if (outcome.kind === "fault") return outcome;
        const listed = { startedAt: joined.startedAt, value: outcome.value };
        if ((kept.get(key)?.startedAt ?? Number.NEGATIVE_INFINITY) <= listed.startedAt) keep(key, listed);
        return ok(listed);
      } finally {
        joined.waiting.delete(meter);
        if (joined.waiting.size === 0) {
          // A read without waiting callers is aborted, and later callers do not join it.
          land(key, joined);
          joined.abort.abort();
        }
      }
    },
  };
}

interface Flight<Value> {
  readonly abort: AbortController;
  /** The meters of the waiting callers, in order of arrival. */
  readonly waiting: Set<Meter>;
  readonly startedAt: number;
  readonly landing: Promise<Outcome<Value>>;
}

const ABORTED: Fault = { code: "Aborted", message: "aborted before a list was answered" };
