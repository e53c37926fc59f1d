import type { FollowBounds } from "#kube/follow/bounds.ts";
import { createBreather } from "#kube/follow/breathe.ts";
import { type Clock, pause } from "#kube/follow/clock.ts";
import type { LimitsInForce } from "#kube/follow/limits-in-force.ts";
import type { Pace } from "#kube/follow/pace.ts";

export interface AdmissionOptions {
  readonly pace: Pace;
  readonly limits: LimitsInForce;
  readonly path: string;
  readonly bounds: FollowBounds;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const LOOK_AGAIN_MS = 5_000;

/**
 * What is to be awaited before a line of so many characters is read, if anything: its place in the cluster's pace, or a turn for others.
 * Says so while lines wait for long.
 */
export function createAdmission(
  options: AdmissionOptions,
): (characters: number) => Promise<void> | undefined {
  const { pace, limits, path, bounds, clock, signal } = options;
  const breathe = createBreather();

  function lookAgain(): void {
    if (signal.aborted) return;
    if (pace.isHeld()) clock.after(LOOK_AGAIN_MS, lookAgain);
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
      clock.after(LOOK_AGAIN_MS, lookAgain);
    }
    return pause(clock, waitMs, signal);
  };
}
