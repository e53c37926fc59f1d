import type { CallContext } from "#clouds/http/call-context.ts";
import { createSharedMeter, type Meter } from "#clouds/http/meter.ts";
import { raceAbort } from "#clouds/http/race-abort.ts";

/** Work shared by all callers that wait for it; at most one run at a time. */
export interface SharedFlight<Value> {
  /**
   * Returns the result of the current run, which may have begun before this call, or of a new one; undefined
   * if the caller aborts first.
   */
  join(callContext: CallContext): Promise<Value | undefined>;
  isUnderWay(): boolean;
}

/**
 * Creates shared work; `start` never rejects. A run without waiting callers is aborted, and later callers do
 * not join it.
 */
export function createSharedFlight<Value>(
  start: (callContext: CallContext) => Promise<Value>,
): SharedFlight<Value> {
  let invocation: Flight<Value> | undefined;

  const takeOff = (meter: Meter): Flight<Value> => {
    const abort = new AbortController();
    const waiting = new Set([meter]);
    const started: Flight<Value> = {
      abort,
      waiting,
      landing: start({ signal: abort.signal, meter: createSharedMeter(waiting) }).finally(() => {
        if (invocation === started) invocation = undefined;
      }),
    };
    invocation = started;
    return started;
  };

  return {
    async join({ signal, meter }) {
      if (signal.aborted) return undefined;
      const joined = invocation ?? takeOff(meter);
      joined.waiting.add(meter);
      try {
        return await raceAbort(joined.landing, signal);
      } finally {
        joined.waiting.delete(meter);
        if (joined.waiting.size === 0) {
          if (invocation === joined) invocation = undefined;
          joined.abort.abort();
        }
      }
    },
    isUnderWay: () => invocation !== undefined,
  };
}

interface Flight<Value> {
  readonly abort: AbortController;
  /** The meters of the waiting callers, in order of arrival. */
  readonly waiting: Set<Meter>;
  readonly landing: Promise<Value>;
}
