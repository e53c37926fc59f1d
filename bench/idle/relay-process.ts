import { PROGRAM } from "#bench/contenders/run.ts";
import { untilSaid } from "#bench/idle/until-said.ts";
import { startProcess } from "#emulators/harness/managed-process.ts";

/** A relay that runs, by what can be asked of it from outside. */
export interface RelayProcess {
  readonly pid: number;
  /** Sums over the clusters, by its own metrics. */
  state(): Promise<RelayState>;
  heap(): Promise<NodeJS.MemoryUsage>;
  stop(): Promise<void>;
}

export interface RelayState {
  readonly readyClusters: number;
  readonly objects: number;
  /** Objects that need work, or that work is being done for. */
  readonly unfinished: number;
}

const START_TIMEOUT_MS = 60_000;

/** Starts the published program for the clusters of a file, with its defaults; extra options are Node's own. */
export async function startRelayProcess(
  clustersFile: string,
  environment: Readonly<Record<string, string | undefined>>,
  nodeOptions: readonly string[] = [],
): Promise<RelayProcess> {
  let said = "";
  const program = startProcess(
    process.execPath,
    [
      ...nodeOptions,
      "--import",
      TELL_MEMORY,
      PROGRAM,
      "relay",
      `--clusters-file=${clustersFile}`,
      "--function-prefix=bench-",
      "--port=0",
    ],
    {
      environment,
      onErrorOutput: (chunk) => {
        said += chunk;
        // Each node of each cluster has a line of its own; only the newest tell anything here.
        if (said.length > MAX_SAID && url !== undefined) said = said.slice(-MAX_SAID);
        url ??= /"event":"Serving","url":"([^"]+)"/.exec(said)?.[1];
      },
    },
  );
  let url: string | undefined;
  try {
    await untilSaid(program, () => url !== undefined, "the relay", START_TIMEOUT_MS);
  } catch (error) {
    await program.stop("SIGKILL");
    throw error;
  }
  const heapLines = (): readonly string[] => said.match(/^memory \{.*\}$/gm) ?? [];
  return {
    pid: program.pid,
    state: async () => {
      if (program.hasExited()) throw new Error(`the relay ended: ${program.output()}`);
      return stateOf(await (await fetch(`${url}/metrics`)).text());
    },
    heap: async () => {
      said = "";
      process.kill(program.pid, "SIGUSR2");
      await untilSaid(program, () => heapLines().length > 0, "the relay's answer", START_TIMEOUT_MS);
      return JSON.parse(heapLines().at(-1)?.slice("memory ".length) ?? "{}") as NodeJS.MemoryUsage;
    },
    stop: () => program.stop("SIGTERM"),
  };
}

/** A relay of 5,000 nodes writes less than this between two looks. */
const MAX_SAID = 1_000_000;

/** What is loaded before the program: a signal asks for `process.memoryUsage()`, which nothing outside the process knows. */
const TELL_MEMORY = `data:text/javascript,${encodeURIComponent(
  'process.on("SIGUSR2", () => process.stderr.write("\\nmemory " + JSON.stringify(process.memoryUsage()) + "\\n"));',
)}`;

/** The state that metrics in Prometheus' text format tell of. */
export function stateOf(metrics: string): RelayState {
  return {
    readyClusters: sumOf(metrics, "serverless_ccm_cluster_ready"),
    objects: sumOf(metrics, "serverless_ccm_objects"),
    unfinished:
      sumOf(metrics, "serverless_ccm_pending_objects") + sumOf(metrics, "serverless_ccm_in_flight_objects"),
  };
}

function sumOf(metrics: string, name: string): number {
  const values = [...metrics.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, "gm"))];
  return values.reduce((sum, [, value]) => sum + Number(value), 0);
}
