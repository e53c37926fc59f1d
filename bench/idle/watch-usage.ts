import { setTimeout as sleep } from "node:timers/promises";
import type { IdleUsage } from "#bench/idle/measurement.ts";
import { memoryOf } from "#bench/idle/memory.ts";
import { usageOf } from "#bench/process-usage.ts";
import { spreadOf } from "#bench/report/spread.ts";

const SAMPLE_MS = 1_000;

/** Watches a process for so many seconds; rejects where it ends before. */
export async function watchUsage(pid: number, seconds: number, signal: AbortSignal): Promise<IdleUsage> {
  const startedAt = performance.now();
  const before = await usageOf([pid]);
  const resident: number[] = [];
  while (performance.now() - startedAt < seconds * 1000) {
    resident.push((await memoryOf(pid)).residentMiB);
    await sleep(SAMPLE_MS, undefined, { signal });
  }
  const after = await usageOf([pid]);
  const elapsed = (performance.now() - startedAt) / 1000;
  const { peakMiB, anonymousMiB, proportionalMiB } = await memoryOf(pid);
  return {
    seconds: round(elapsed),
    cpuSeconds: hundredth(after.cpuSeconds - before.cpuSeconds),
    residentMiB: round(spreadOf(resident)?.median ?? 0),
    peakMiB: round(peakMiB),
    anonymousMiB: round(anonymousMiB),
    proportionalMiB: round(proportionalMiB),
  };
}

/** The kernel counts in hundredths of a second. */
function hundredth(value: number): number {
  return Math.round(value * 100) / 100;
}

/** To a tenth. */
function round(value: number): number {
  return Math.round(value * 10) / 10;
}
