import { refillBucket } from "#core/token-bucket.ts";
import type { FollowBounds, LimitsInForce } from "#kube/follow/bounds.ts";
import { type Clock, createYieldToEventLoop, pause } from "#kube/follow/clock.ts";

/**
 * Limits the event rate of all watches of one cluster: a sustained rate, and a burst that grows with the
 * number of objects. A starting cluster writes each node a dozen times.
 */
export interface WatchRateLimiter {
  /** Takes an event of this many bytes: returns 0 if it may be handled now, else the milliseconds to wait. */
  take(bytes: number): number;
  /** Counts one object more or less. */
  count(change: 1 | -1): void;
  /** Whether events have waited without a break for a while. */
  isHeld(): boolean;
}

const BURST_SECONDS = 10;
const BURST_PER_OBJECT = 8;
/** An event as large as several counts as several. */
const BYTES_PER_EVENT = 16 * 1024;
/** One wait covers many events. */
const SHORTEST_WAIT_MS = 20;
/** After waits for this long, the watch counts as held back: this is longer than a burst. */
const HELD_AFTER_MS = 5_000;
/** After this time without a wait, the watch no longer counts as held back. */
const RELEASED_AFTER_MS = 2_000;

/** Creates a limiter with a full burst. */
export function createWatchRateLimiter(clock: Clock, eventsPerSecond: number): WatchRateLimiter {
  let burst = eventsPerSecond * BURST_SECONDS;
  const bucket = { tokens: burst, refilledAt: clock.now() };
  let known = 0;
  let mostKnown = 0;
  let waitingSinceMs = 0;
  let waitedMs = Number.NEGATIVE_INFINITY;

  return {
    take(bytes) {
      const nowMs = clock.now();
      refillBucket(bucket, { burst, perSecond: eventsPerSecond }, nowMs);
      bucket.tokens -= Math.max(1, bytes / BYTES_PER_EVENT);
      const debtMs = (-bucket.tokens / eventsPerSecond) * 1_000;
      if (debtMs < SHORTEST_WAIT_MS) return 0;
      if (nowMs - waitedMs > RELEASED_AFTER_MS) waitingSinceMs = nowMs;
      waitedMs = nowMs + debtMs;
      return debtMs;
    },
    count(change) {
      known += change;
      if (known <= mostKnown) return;
      // Only new maximums add tokens: objects that come and go do not.
      mostKnown = known;
      burst += BURST_PER_OBJECT;
      bucket.tokens += BURST_PER_OBJECT;
    },
    isHeld() {
      const nowMs = clock.now();
      return nowMs - waitingSinceMs >= HELD_AFTER_MS && nowMs - waitedMs <= RELEASED_AFTER_MS;
    },
  };
}

interface AdmissionOptions {
  readonly pace: WatchRateLimiter;
  readonly limits: LimitsInForce;
  readonly path: string;
  readonly bounds: FollowBounds;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const RECHECK_MS = 5_000;

/**
 * Returns what to await before a watch line of this many characters is read: the cluster's watch rate, or a
 * turn for other clusters. Reports long waits.
 */
export function createAdmission(
  options: AdmissionOptions,
): (characters: number) => Promise<void> | undefined {
  const { pace, limits, path, bounds, clock, signal } = options;
  const breathe = createYieldToEventLoop();

  function lookAgain(): void {
    if (signal.aborted) return;
    if (pace.isHeld()) clock.after(RECHECK_MS, lookAgain);
    else limits.lift("watchPace");
  }

  return (characters) => {
    const waitMs = pace.take(characters);
    if (waitMs === 0) return breathe();
    if (pace.isHeld() && !limits.isInForce("watchPace")) {
      const rate = `${bounds.watchEventsPerSecond} events a second`;
      limits.enter(
        "watchPace",
        `the watch of ${path} brings more than ${rate} for long; it is read at that pace`,
      );
      clock.after(RECHECK_MS, lookAgain);
    }
    return pause(clock, waitMs, signal);
  };
}
