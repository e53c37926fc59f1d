/** A call shared by all callers that wait for it. */
export interface SingleFlight<Caller, Value> {
  /**
   * Returns the result of the running call if it began at `since` or later, or else of a new call; undefined
   * once the caller's signal aborts.
   */
  join(caller: Caller, since?: number): Promise<Value | undefined>;
  isRunning(): boolean;
}

/** A running call, as `start` sees it. */
export interface SharedCall<Caller> {
  /** Aborts when the last waiting caller has left. */
  readonly signal: AbortSignal;
  /** Returns the caller that has waited longest; undefined if none waits any more. */
  getFirst(): Caller | undefined;
}

/**
 * Creates a single flight; `start` begins a call for its first caller and never rejects. Results are not
 * cached. Later callers do not join a call that all callers have left. `now` is the clock of `since`.
 */
export function createSingleFlight<Caller extends { readonly signal: AbortSignal }, Value>(
  start: (first: Caller, call: SharedCall<Caller>) => Promise<Value>,
  now: () => number = () => 0,
): SingleFlight<Caller, Value> {
  let current: Flight<Caller, Value> | undefined;

  const begin = (entry: Entry<Caller>): Flight<Caller, Value> => {
    const abort = new AbortController();
    const waiting = new Set([entry]);
    const getFirst = (): Caller | undefined => waiting.values().next().value?.caller;
    const flight: Flight<Caller, Value> = {
      abort,
      waiting,
      startedAt: now(),
      result: start(entry.caller, { signal: abort.signal, getFirst }).finally(() => end(flight)),
    };
    current = flight;
    return flight;
  };

  const end = (flight: Flight<Caller, Value>): void => {
    if (current === flight) current = undefined;
  };

  return {
    async join(caller, since = Number.NEGATIVE_INFINITY) {
      if (caller.signal.aborted) return undefined;
      const entry = { caller };
      const joined = current !== undefined && current.startedAt >= since ? current : begin(entry);
      joined.waiting.add(entry);
      try {
        return await raceAbort(joined.result, caller.signal);
      } finally {
        joined.waiting.delete(entry);
        if (joined.waiting.size === 0) {
          end(joined);
          joined.abort.abort();
        }
      }
    },
    isRunning: () => current !== undefined,
  };
}

interface Flight<Caller, Value> {
  readonly abort: AbortController;
  /** In order of arrival; a caller that joins twice has two entries. */
  readonly waiting: Set<Entry<Caller>>;
  readonly startedAt: number;
  readonly result: Promise<Value>;
}

interface Entry<Caller> {
  readonly caller: Caller;
}

/** Resolves with undefined as soon as the signal aborts. */
function raceAbort<Value>(value: Promise<Value>, signal: AbortSignal): Promise<Value | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const abort = (): void => resolve(undefined);
  signal.addEventListener("abort", abort, { once: true });
  return Promise.race([value, promise]).finally(() => signal.removeEventListener("abort", abort));
}
