import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

/** The usage of processes so far. */
export interface Usage {
  /** User and system time. */
  readonly cpuSeconds: number;
  /** The sum of the processes' largest resident sets. */
  readonly peakMemoryMiB: number;
}

/** Reads the total usage of these processes from /proc; an ended one counts as zero. Linux only. */
export async function readUsage(pids: readonly number[]): Promise<Usage> {
  const each = await Promise.all(pids.map(readProcessUsage));
  return {
    cpuSeconds: each.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0),
    peakMemoryMiB: each.reduce((sum, { peakMemoryMiB }) => sum + peakMemoryMiB, 0),
  };
}

/** Parses the CPU seconds of a line of /proc/PID/stat, whose second field may contain spaces and brackets. */
export function parseCpuSeconds(stat: string, ticksPerSecond: number): number {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** Parses the largest resident set in MiB from /proc/PID/status. */
export function parsePeakMemoryMiB(status: string): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1024;
}

async function readProcessUsage(pid: number): Promise<Usage> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    return {
      cpuSeconds: parseCpuSeconds(stat, await readTicksPerSecond()),
      peakMemoryMiB: parsePeakMemoryMiB(status),
    };
  } catch {
    return { cpuSeconds: 0, peakMemoryMiB: 0 };
  }
}

let ticks: Promise<number> | undefined;

function readTicksPerSecond(): Promise<number> {
  ticks ??= promisify(execFile)("getconf", ["CLK_TCK"]).then(({ stdout }) => Number(stdout));
  return ticks;
}
