import { untilAborted } from "#kube/client/on-abort.ts";
import { createSlots } from "#kube/client/slots.ts";

/** Leave to send one request. Exactly one of its two methods is called, once. */
export interface Ticket {
  /** The request was answered. */
  done(): void;
  /** The server asked for less, and for a pause. */
  throttled(pauseSeconds: number): void;
}

/** Bounds the requests in flight: halved when the server throttles, growing back by one for each round of answers. */
export interface Gate {
  /** Waits its turn, those at the front first; undefined once the signal is aborted. */
  enter(place: "front" | "back", signal: AbortSignal): Promise<Ticket | undefined>;
  /** The bound as it is now. */
  bound(): number;
}

/** A gate that starts at its `maximum`, and never closes below one request at a time. */
export function createGate(maximum: number): Gate {
  let bound = maximum;
  let halvings = 0;
  let resumeAt = 0;
  let resumeTimer: NodeJS.Timeout | undefined;

  const slots = createSlots(
    () => (resumeTimer === undefined ? Math.floor(bound) : 0),
    Number.POSITIVE_INFINITY,
  );

  const pause = (seconds: number): void => {
    const until = performance.now() + seconds * 1_000;
    if (until <= resumeAt) return;
    resumeAt = until;
    clearTimeout(resumeTimer);
    resumeTimer = setTimeout(() => {
      resumeTimer = undefined;
      slots.admit();
    }, seconds * 1_000);
  };

  const ticket = (): Ticket => {
    const halvingsBefore = halvings;
    return {
      done() {
        bound = Math.min(maximum, bound + 1 / bound);
        slots.leave();
      },
      throttled(pauseSeconds) {
        // Requests that were in flight together are throttled together; that is one reason to halve, not many.
        if (halvingsBefore === halvings) {
          halvings += 1;
          bound = Math.max(1, bound / 2);
        }
        pause(pauseSeconds);
        slots.leave();
      },
    };
  };

  return {
    bound: () => Math.floor(bound),
    async enter(place, signal) {
      const entered = await slots.enter(untilAborted(signal), place);
      return entered === "entered" ? ticket() : undefined;
    },
  };
}
