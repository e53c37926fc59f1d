import type { Turn } from "#clouds/http/api.ts";
import { type Meter, meterOfFirst } from "#clouds/http/meter.ts";
import { unlessAborted } from "#clouds/http/unless-aborted.ts";

/** A piece of work that serves all who wait for it at the time: one is under way at most. */
export interface SharedFlight<Value> {
  /** What comes of the one under way, which may have begun before this call, or of a new one; undefined where the caller gives up first. */
  join(turn: Turn): Promise<Value | undefined>;
  isUnderWay(): boolean;
}

/** `start` never rejects. What nobody waits for any more is aborted, and nobody may join it. */
export function createSharedFlight<Value>(start: (turn: Turn) => Promise<Value>): SharedFlight<Value> {
  let flight: Flight<Value> | undefined;

  const takeOff = (meter: Meter): Flight<Value> => {
    const abort = new AbortController();
    const waiting = new Set([meter]);
    const started: Flight<Value> = {
      abort,
      waiting,
      landing: start({ signal: abort.signal, meter: meterOfFirst(waiting) }).finally(() => {
        if (flight === started) flight = undefined;
      }),
    };
    flight = started;
    return started;
  };

  return {
    async join({ signal, meter }) {
      if (signal.aborted) return undefined;
      const joined = flight ?? takeOff(meter);
      joined.waiting.add(meter);
      try {
        return await unlessAborted(joined.landing, signal);
      } finally {
        joined.waiting.delete(meter);
        if (joined.waiting.size === 0) {
          if (flight === joined) flight = undefined;
          joined.abort.abort();
        }
      }
    },
    isUnderWay: () => flight !== undefined,
  };
}

interface Flight<Value> {
  readonly abort: AbortController;
  /** The meters of those who wait for it, in the order in which they came. */
  readonly waiting: Set<Meter>;
  readonly landing: Promise<Value>;
}
