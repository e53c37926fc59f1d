import { spawn } from "node:child_process";
import { createWriteStream, type WriteStream } from "node:fs";

/** A process and all its children, in one process group. */
export interface ManagedProcess {
  readonly pid: number;
  hasExited(): boolean;
  /** Resolves when it has ended, with its exit code or the signal that ended it. */
  readonly exited: Promise<number | NodeJS.Signals>;
  /** Returns the end of its standard output and standard error. */
  output(): string;
  /**
   * Signals the process itself; SIGKILL reaches the whole group. Resolves when it has ended, by SIGKILL if it
   * takes too long.
   */
  stop(signal: "SIGTERM" | "SIGINT" | "SIGKILL"): Promise<void>;
}

export interface ManagedProcessOptions {
  readonly folder?: string;
  /** The whole environment; default: this process's own. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Receives all of standard output and standard error. */
  readonly logFile?: string;
  /** Called with each chunk of standard error. */
  readonly onErrorOutput?: (chunk: string) => void;
  /** Milliseconds that `stop` waits before SIGKILL. */
  readonly stopTimeoutMs?: number;
}

/**
 * Starts a program that never outlives this process. A guard in the program's group waits for the end of a
 * pipe that only this process holds, and then kills the group.
 */
export function startProcess(
  program: string,
  args: readonly string[],
  options: ManagedProcessOptions = {},
): ManagedProcess {
  const child = spawn("/bin/sh", ["-c", GUARDED, program, ...args], {
    ...(options.folder === undefined ? {} : { cwd: options.folder }),
    env: options.environment ?? process.env,
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    detached: true,
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${program} could not be started: /bin/sh is missing`);
  const [, stdout, stderr, life] = child.stdio;
  const log = options.logFile === undefined ? undefined : createWriteStream(options.logFile, { flags: "a" });
  let tail = "";
  const keep = (chunk: string): void => {
    tail = (tail + chunk).slice(-MAX_OUTPUT);
    log?.write(chunk);
  };
  for (const stream of [stdout, stderr]) stream?.setEncoding("utf8").on("data", keep);
  if (options.onErrorOutput !== undefined) stderr?.on("data", options.onErrorOutput);
  let ended = false;
  const exited = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once("exit", (code, signal) => {
      ended = true;
      // The rest of the group ends with it, including the guard.
      life?.destroy();
      killGroup(pid);
      void endLog(log).then(() => resolve(code ?? signal ?? 0));
    });
  });
  return {
    pid,
    hasExited: () => ended,
    exited,
    output: () => tail,
    stop: async (signal) => {
      if (ended) return void (await exited);
      if (signal === "SIGKILL") killGroup(pid);
      else child.kill(signal);
      const timer = setTimeout(() => killGroup(pid), options.stopTimeoutMs ?? STOP_TIMEOUT_MS);
      await exited;
      clearTimeout(timer);
    },
  };
}

/** The program keeps the shell's process id; the guard reads descriptor 3, which the program does not get. */
const GUARDED = '{ read -r _ <&3; kill -s KILL -- "-$$"; } >/dev/null 2>&1 & exec "$0" "$@" 3<&-';

/** Characters of output kept to explain a failure. */
const MAX_OUTPUT = 4_000;

const STOP_TIMEOUT_MS = 15_000;

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The process is gone already.
  }
}

async function endLog(log: WriteStream | undefined): Promise<void> {
  if (log !== undefined) await new Promise<void>((resolve) => log.end(resolve));
}
