import type { Timing } from "#cli/cost/measured.ts";

/** The memory, in MB, for which Lambda gives the CPU time of one vCPU; less memory gets proportionally less (Lambda's developer guide). */
export const MB_PER_VCPU = 1_769;

/**
 * The milliseconds that a function platform bills for what took these timings one after the other, with this memory. Waiting
 * takes as long anywhere; CPU time is stretched as the platform gives less than one vCPU. Nothing is taken to overlap and no
 * CPU to be given for starting, so the result errs to the dear side. Rounded up to a whole millisecond, once.
 */
export function billedMs(timings: readonly Timing[], memoryMB: number): number {
  const vcpus = Math.min(1, memoryMB / MB_PER_VCPU);
  const ms = timings.reduce((sum, { wallMs, cpuMs }) => sum + Math.max(0, wallMs - cpuMs) + cpuMs / vcpus, 0);
  // What binary fractions add to a whole number is not a millisecond more.
  return Math.ceil(Number(ms.toFixed(6)));
}
