import { readFile, writeFile } from "node:fs/promises";
import { PROGRAM } from "#bench/contenders/run.ts";
import { mebibytes } from "#bench/idle/memory.ts";
import { untilSaid } from "#bench/idle/until-said.ts";
import { startProcess } from "#emulators/harness/managed-process.ts";

/** A relay, by what can be seen of it from outside. */
export interface RelayUnderAttack {
  readonly pid: number;
  readonly url: string;
  /** Bytes of log so far. */
  logBytes(): number;
  hasEnded(): boolean;
  /** Its last words. */
  lastWords(): string;
  /** The largest resident set since `resetPeak`, in MiB; 0 once it has ended. */
  peakMiB(): Promise<number>;
  residentMiB(): Promise<number>;
  resetPeak(): Promise<void>;
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 60_000;

/** What clears the kernel's memory of the largest resident set. */
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
    await untilSaid(program, () => url !== undefined, "the relay", START_TIMEOUT_MS);
  } catch (error) {
    await program.stop("SIGKILL");
    throw error;
  }
  const field = (name: string): Promise<number> =>
    readFile(`/proc/${program.pid}/status`, "utf8").then(
      (status) => mebibytes(status, name),
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
