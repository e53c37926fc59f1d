import type { LookTimes } from "#relay/work/looking.ts";

/** What holds for all objects of one controller and cluster. */
export interface Rules {
  readonly looks: LookTimes;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** The cluster's place in the slots of waits, in [0, 1). */
  readonly offset: number;
}
