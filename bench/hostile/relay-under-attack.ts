import { readFile, writeFile } from "node:fs/promises";
import { PROGRAM } from "#bench/contenders/run.ts";
import { parseMebibytes } from "#bench/idle/memory.ts";
import { waitForOutput } from "#bench/idle/wait-for-output.ts";
import { startProcess } from "#emulators/harness/managed-process.ts";

/** A relay, as visible from outside. */
export interface RelayUnderAttack {
  readonly pid: number;
  readonly url: string;
  /** Returns the bytes of log so far. */
  logBytes(): number;
  hasEnded(): boolean;
  /** Returns the end of its output. */
  lastWords(): string;
  /** Returns the largest resident set since `resetPeak`, in MiB; 0 after its end. */
  peakMiB(): Promise<number>;
  residentMiB(): Promise<number>;
  resetPeak(): Promise<void>;
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 60_000;

/** The value that clears the kernel's record of the largest resident set. */
const CLEAR_PEAK = "5";

/** Starts the published program for the clusters of a file, with its defaults. */
export async function startRelayUnderAttack(
  clustersFile: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<RelayUnderAttack> {
  let logBytes = 0;
  let url: string | undefined;
  let beginning = "";
  const flags = ["relay", `--clusters-file=${clustersFile}`, "--function-prefix=bench-", "--port=0"];
  const program = startProcess(process.execPath, [PROGRAM, ...flags], {
    environment,
    onErrorOutput: (chunk) => {
      logBytes += Buffer.byteLength(chunk);
      if (url !== undefined) return;
      beginning += chunk;
      url = /"event":"Serving".*?"url":"([^"]+)"/.exec(beginning)?.[1];
    },
  });
  try {
    await waitForOutput(program, () => url !== undefined, "the relay", START_TIMEOUT_MS);
  } catch (error) {
    await program.stop("SIGKILL");
    throw error;
  }
  const field = (name: string): Promise<number> =>
    readFile(`/proc/${program.pid}/status`, "utf8").then(
      (status) => parseMebibytes(status, name),
      () => 0,
    );
  return {
    pid: program.pid,
    url: url ?? "",
    logBytes: () => logBytes,
    hasEnded: () => program.hasExited(),
    lastWords: () => program.output().slice(-500),
    peakMiB: () => field("VmHWM").catch(() => 0),
    residentMiB: () => field("VmRSS").catch(() => 0),
    resetPeak: () => writeFile(`/proc/${program.pid}/clear_refs`, CLEAR_PEAK).catch(() => undefined),
    stop: () => program.stop("SIGKILL"),
  };
}
