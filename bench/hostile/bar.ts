import { isSeenByTheOperator } from "#bench/hostile/attack-rows.ts";
import type { HostilePhase } from "#bench/hostile/measurement.ts";

/** The limits on what one hostile cluster may cost the others. */
export const BAR = {
  joiningRise: 0.1,
  healthzP99Ms: 100,
  peakMiB: 512,
  peakMiBMore: 150,
  logBytesPerMinute: 1_000_000,
} as const;

/** Returns the rise of the others' joining time, 0.1 being a tenth; undefined without measurements. */
export function getJoiningRise(phase: HostilePhase, quiet: HostilePhase): number | undefined {
  return quiet.joiningP50Ms === 0 || phase.nodes === 0
    ? undefined
    : phase.joiningP50Ms / quiet.joiningP50Ms - 1;
}

/** Returns the bytes of log per minute. */
export function logBytesPerMinute({ logBytes, seconds }: HostilePhase): number {
  return seconds === 0 ? 0 : (logBytes / seconds) * 60;
}

/** Returns a message for each limit that a phase exceeds. */
export function listMisses(phase: HostilePhase, quiet: HostilePhase): readonly string[] {
  const rise = getJoiningRise(phase, quiet);
  const isAttack = phase.name !== "quiet" && phase.name !== "noise";
  const misses: readonly (readonly [isMissed: boolean, what: string])[] = [
    [phase.ended, "the relay ended"],
    [phase.missing > 0, "nodes missing"],
    [rise === undefined || rise >= BAR.joiningRise, "joining"],
    [phase.healthzP99Ms >= BAR.healthzP99Ms || phase.healthzFailures > 0, "healthz"],
    [phase.peakMiB > BAR.peakMiB || phase.peakMiB > quiet.peakMiB + BAR.peakMiBMore, "memory"],
    [logBytesPerMinute(phase) > BAR.logBytesPerMinute, "log"],
    [isAttack && isSeenByTheOperator(phase.name) && !isNamed(phase), "not named"],
    [isAttack && phase.healedSeconds === undefined, "not healed"],
  ];
  return misses.filter(([isMissed]) => isMissed).map(([, what]) => what);
}

/** Returns whether both pages and metrics named the cluster. */
export function isNamed({ onPages, inMetrics }: HostilePhase): boolean {
  return onPages.length > 0 && inMetrics.length > 0;
}
