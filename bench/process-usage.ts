import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

/** What processes have used so far. */
export interface Usage {
  /** User and system. */
  readonly cpuSeconds: number;
  /** The largest resident set that each has had, added up. */
  readonly peakMemoryMiB: number;
}

/** Reads from /proc what these processes have used together; one that has ended counts as nothing. Linux only. */
export async function usageOf(pids: readonly number[]): Promise<Usage> {
  const each = await Promise.all(pids.map(usageOfOne));
  return {
    cpuSeconds: each.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0),
    peakMemoryMiB: each.reduce((sum, { peakMemoryMiB }) => sum + peakMemoryMiB, 0),
  };
}

/** CPU seconds of a line of /proc/PID/stat, whose second field may hold spaces and brackets. */
export function cpuSecondsOf(stat: string, ticksPerSecond: number): number {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** The largest resident set in MiB that /proc/PID/status tells of. */
export function peakMemoryMiBOf(status: string): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1024;
}

async function usageOfOne(pid: number): Promise<Usage> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    return {
      cpuSeconds: cpuSecondsOf(stat, await ticksPerSecond()),
      peakMemoryMiB: peakMemoryMiBOf(status),
    };
  } catch {
    return { cpuSeconds: 0, peakMemoryMiB: 0 };
  }
}

let ticks: Promise<number> | undefined;

function ticksPerSecond(): Promise<number> {
  ticks ??= promisify(execFile)("getconf", ["CLK_TCK"]).then(({ stdout }) => Number(stdout));
  return ticks;
}
