import { createSemaphore } from "#kube/client/semaphore.ts";
import { createAbortPatience } from "#kube/client/time-limit.ts";

/** Permission to send one request. Call exactly one of its methods, once. */
export interface Permit {
  /** The request was answered. */
  done(): void;
  /** The server throttled the request and requested a pause. */
  throttled(pauseSeconds: number): void;
}

/**
 * Limits requests in flight: halved when the server throttles, and raised by one for each round of answers.
 */
export interface AdaptiveConcurrency {
  /** Waits for a permit, requests at the front first; undefined once the signal is aborted. */
  acquire(place: "front" | "back", signal: AbortSignal): Promise<Permit | undefined>;
  /** Returns the current limit. */
  bound(): number;
}

/** Creates an adaptive concurrency limit that starts at `maximum` and never falls below one request. */
export function createAdaptiveConcurrency(maximum: number): AdaptiveConcurrency {
  let bound = maximum;
  let halvings = 0;
  let resumeAt = 0;
  let resumeTimer: NodeJS.Timeout | undefined;

  const semaphore = createSemaphore(
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
      semaphore.admit();
    }, seconds * 1_000);
  };

  const ticket = (): Permit => {
    const halvingsBefore = halvings;
    return {
      done() {
        bound = Math.min(maximum, bound + 1 / bound);
        semaphore.release();
      },
      throttled(pauseSeconds) {
        // Requests in flight together are throttled together; halve only once for all of them.
        if (halvingsBefore === halvings) {
          halvings += 1;
          bound = Math.max(1, bound / 2);
        }
        pause(pauseSeconds);
        semaphore.release();
      },
    };
  };

  return {
    bound: () => Math.floor(bound),
    async acquire(place, signal) {
      const entered = await semaphore.acquire(createAbortPatience(signal), place);
      return entered === "entered" ? ticket() : undefined;
    },
  };
}
