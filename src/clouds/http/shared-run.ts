import { type CallContext, createSharedMeter, type Meter } from "#clouds/http/meter.ts";

/** Work shared by all callers that wait for it; at most one run at a time. */
export interface SharedRun<Value> {
  /**
   * Returns the result of the current run, which may have begun before this call, or of a new one; undefined
   * if the caller aborts first.
   */
  join(callContext: CallContext): Promise<Value | undefined>;
  isRunning(): boolean;
}

/**
 * Creates shared work; `start` never rejects. A run without waiting callers is aborted, and later callers do
 * not join it.
 */
export function createSharedRun<Value>(
  start: (callContext: CallContext) => Promise<Value>,
): SharedRun<Value> {
  let current: Run<Value> | undefined;

  const startRun = (meter: Meter): Run<Value> => {
    const abort = new AbortController();
    const waiting = new Set([meter]);
    const run: Run<Value> = {
      abort,
      waiting,
      result: start({ signal: abort.signal, meter: createSharedMeter(waiting) }).finally(() => {
        if (current === run) current = undefined;
      }),
    };
    current = run;
    return run;
  };

  return {
    async join({ signal, meter }) {
      if (signal.aborted) return undefined;
      const joined = current ?? startRun(meter);
      joined.waiting.add(meter);
      try {
        return await raceAbort(joined.result, signal);
      } finally {
        joined.waiting.delete(meter);
        if (joined.waiting.size === 0) {
          if (current === joined) current = undefined;
          joined.abort.abort();
        }
      }
    },
    isRunning: () => current !== undefined,
  };
}

interface Run<Value> {
  readonly abort: AbortController;
  /** The meters of the waiting callers, in order of arrival. */
  readonly waiting: Set<Meter>;
  readonly result: Promise<Value>;
}

/** Resolves with undefined as soon as the signal aborts. */
export function raceAbort<Value>(value: Promise<Value>, signal: AbortSignal): Promise<Value | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const abort = (): void => resolve(undefined);
  signal.addEventListener("abort", abort, { once: true });
  return Promise.race([value, promise]).finally(() => signal.removeEventListener("abort", abort));
}
