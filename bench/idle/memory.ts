import { readFile } from "node:fs/promises";

/** A process's memory, in MiB. */
export interface Memory {
  readonly residentMiB: number;
  /** The maximum of `residentMiB`. */
  readonly peakMiB: number;
  /** Resident and private: without the pages of the program's own file and of libraries. */
  readonly anonymousMiB: number;
  /** Resident, with shared pages divided among the processes that share them. */
  readonly proportionalMiB: number;
}

/** Reads /proc; rejects if the process has ended. Linux only. */
export async function readMemory(pid: number): Promise<Memory> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "utf8");
  return {
    residentMiB: parseMebibytes(status, "VmRSS"),
    peakMiB: parseMebibytes(status, "VmHWM"),
    anonymousMiB: parseMebibytes(status, "RssAnon"),
    proportionalMiB: parseMebibytes(rollup, "Pss"),
  };
}

/**
 * Parses the field of a file such as /proc/PID/status, with lines such as `Name: 123 kB`; throws if it is
 * missing.
 */
export function parseMebibytes(text: string, field: string): number {
  const kibibytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(text)?.[1];
  if (kibibytes === undefined) throw new Error(`/proc has no ${field}: is this Linux?`);
  return Number(kibibytes) / 1024;
}
