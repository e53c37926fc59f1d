import type { FollowBounds, LimitsInForce } from "#kube/follow/bounds.ts";
import { type Clock, createYieldToEventLoop, pause } from "#kube/follow/clock.ts";
import type { WatchRateLimiter } from "#kube/follow/watch-rate-limiter.ts";

export interface AdmissionOptions {
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
