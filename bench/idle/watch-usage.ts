import { setTimeout as sleep } from "node:timers/promises";
import type { IdleUsage } from "#bench/idle/measurement.ts";
import { readMemory } from "#bench/idle/memory.ts";
import { readUsage } from "#bench/process-usage.ts";
import { computeSpread } from "#bench/report/spread.ts";

const SAMPLE_MS = 1_000;

/** Watches a process for so many seconds; rejects if it ends earlier. */
export async function watchUsage(pid: number, seconds: number, signal: AbortSignal): Promise<IdleUsage> {
  const startedAt = performance.now();
  const before = await readUsage([pid]);
  const resident: number[] = [];
  while (performance.now() - startedAt < seconds * 1000) {
    resident.push((await readMemory(pid)).residentMiB);
    await sleep(SAMPLE_MS, undefined, { signal });
  }
  const after = await readUsage([pid]);
  const elapsed = (performance.now() - startedAt) / 1000;
  const { peakMiB, anonymousMiB, proportionalMiB } = await readMemory(pid);
  return {
    seconds: round(elapsed),
    cpuSeconds: roundToHundredth(after.cpuSeconds - before.cpuSeconds),
    residentMiB: round(computeSpread(resident)?.median ?? 0),
    peakMiB: round(peakMiB),
    anonymousMiB: round(anonymousMiB),
    proportionalMiB: round(proportionalMiB),
  };
}

/** The kernel counts in hundredths of a second. */
function roundToHundredth(value: number): number {
  return Math.round(value * 100) / 100;
}

/** Rounds to a tenth. */
function round(value: number): number {
  return Math.round(value * 10) / 10;
}
