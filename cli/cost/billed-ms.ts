import type { Timing } from "#cli/cost/measured.ts";

/** The memory, in MB, for which Lambda gives the CPU time of one vCPU; less memory gets proportionally less (Lambda's developer guide). */
export const MB_PER_VCPU = 1_769;

/**
 * Returns the milliseconds that a function platform bills for these timings in sequence, with this memory.
 *
 * Waiting takes the same time anywhere; CPU time grows as the platform gives less than one vCPU. The model
 * assumes no overlap and no CPU for starting, so the result is rather too high. It is rounded up once, to a
 * whole millisecond.
 */
export function getBilledMs(timings: readonly Timing[], memoryMB: number): number {
  const vcpus = Math.min(1, memoryMB / MB_PER_VCPU);
  const ms = timings.reduce((sum, { wallMs, cpuMs }) => sum + Math.max(0, wallMs - cpuMs) + cpuMs / vcpus, 0);
  // Binary fractions must not add a millisecond to a whole number.
  return Math.ceil(Number(ms.toFixed(6)));
}
