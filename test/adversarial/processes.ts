import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseMebibytes } from "#bench/idle/memory.ts";
import { type ManagedProcess, startProcess } from "#emulators/harness/managed-process.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

/** A process of ours under attack. */
export interface Attacked {
  readonly url: string;
  /** Returns everything that it wrote to standard error. */
  log(): string;
  hasExited(): boolean;
  /** Returns its largest resident set, in MiB. */
  peakMiB(): Promise<number>;
  stop(): Promise<void>;
}

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const PLATFORM = fileURLToPath(new URL("platform.ts", import.meta.url));

/** A heap into which no attack's data would fit. */
const HEAP_MIB = 160;

type Environment = Readonly<Record<string, string>>;

/** Starts the relay of a clusters file, as an operator does. */
export function startAttackedRelay(clustersFile: string, environment: Environment): Promise<Attacked> {
  const flags = [`--clusters-file=${clustersFile}`, "--function-prefix=hostile-", "--port=0"];
  return start([MAIN, "relay", ...flags], environment, /"event":"Serving".*"url":"([^"]+)"/);
}

/** Starts the functions. */
export function startAttackedFunctions(environment: Environment): Promise<Attacked> {
  return start([PLATFORM], environment, /listening on (\S+)/);
}

async function start(program: readonly string[], environment: Environment, says: RegExp): Promise<Attacked> {
  const pieces: string[] = [];
  const options = [`--max-old-space-size=${HEAP_MIB}`, "--max-semi-space-size=4"];
  const child = startProcess(process.execPath, [...options, ...program], {
    environment: { ...process.env, ...environment },
    onErrorOutput: (piece) => pieces.push(piece),
  });
  const url = (): string | undefined => says.exec(child.output())?.[1] ?? says.exec(pieces.join(""))?.[1];
  try {
    await waitUntilTrue(`${program[0]} to listen`, () => {
      if (child.hasExited()) throw new Error(`it ended: ${child.output()}`);
      return url() !== undefined;
    });
  } catch (error) {
    await child.stop("SIGKILL");
    throw error;
  }
  return {
    url: url() ?? "",
    log: () => pieces.join(""),
    hasExited: () => child.hasExited(),
    peakMiB: () => peakOf(child),
    stop: () => child.stop("SIGKILL"),
  };
}

async function peakOf({ pid }: ManagedProcess): Promise<number> {
  return parseMebibytes(await readFile(`/proc/${pid}/status`, "utf8"), "VmHWM");
}
