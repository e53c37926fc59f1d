import { readFile } from "node:fs/promises";

/** What a process holds of the machine's memory, in MiB. */
export interface Memory {
  readonly residentMiB: number;
  /** The largest that `residentMiB` has been. */
  readonly peakMiB: number;
  /** Resident and nobody else's: without the pages of the program's own file and of libraries. */
  readonly anonymousMiB: number;
  /** Resident, with shared pages divided among those who share them. */
  readonly proportionalMiB: number;
}

/** Reads /proc; rejects where the process has ended. Linux only. */
export async function memoryOf(pid: number): Promise<Memory> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "utf8");
  return {
    residentMiB: mebibytes(status, "VmRSS"),
    peakMiB: mebibytes(status, "VmHWM"),
    anonymousMiB: mebibytes(status, "RssAnon"),
    proportionalMiB: mebibytes(rollup, "Pss"),
  };
}

/** The field of a file such as /proc/PID/status, whose lines are `Name: 123 kB`; throws where it is not there. */
export function mebibytes(text: string, field: string): number {
  const kibibytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(text)?.[1];
  if (kibibytes === undefined) throw new Error(`/proc has no ${field}: is this Linux?`);
  return Number(kibibytes) / 1024;
}
