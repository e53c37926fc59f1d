import { onAbort } from "#kube/client/on-abort.ts";

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
  const queues = { front: new Set<() => void>(), back: new Set<() => void>() };
  let bound = maximum;
  let inFlight = 0;
  let halvings = 0;
  let resumeAt = 0;
  let resumeTimer: NodeJS.Timeout | undefined;

  const open = (): boolean => inFlight < Math.floor(bound) && resumeTimer === undefined;

  const admit = (): void => {
    for (const queue of [queues.front, queues.back]) {
      for (const wake of queue) {
        if (!open()) return;
        queue.delete(wake);
        wake();
      }
    }
  };

  const pause = (seconds: number): void => {
    const until = performance.now() + seconds * 1_000;
    if (until <= resumeAt) return;
    resumeAt = until;
    clearTimeout(resumeTimer);
    resumeTimer = setTimeout(() => {
      resumeTimer = undefined;
      admit();
    }, seconds * 1_000);
  };

  const ticket = (): Ticket => {
    const halvingsBefore = halvings;
    inFlight += 1;
    return {
      done() {
        inFlight -= 1;
        bound = Math.min(maximum, bound + 1 / bound);
        admit();
      },
      throttled(pauseSeconds) {
        inFlight -= 1;
        // Requests that were in flight together are throttled together; that is one reason to halve, not many.
        if (halvingsBefore === halvings) {
          halvings += 1;
          bound = Math.max(1, bound / 2);
        }
        pause(pauseSeconds);
        admit();
      },
    };
  };

  return {
    bound: () => Math.floor(bound),
    async enter(place, signal) {
      if (signal.aborted) return undefined;
      if (open() && queues.front.size === 0 && (place === "front" || queues.back.size === 0)) return ticket();
      return new Promise((resolve) => {
        const queue = queues[place];
        const wake = (): void => {
          release();
          resolve(ticket());
        };
        queue.add(wake);
        const release = onAbort(signal, () => {
          queue.delete(wake);
          resolve(undefined);
        });
      });
    },
  };
}
