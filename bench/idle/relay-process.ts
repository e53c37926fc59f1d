import { PROGRAM } from "#bench/contenders/run.ts";
import { waitForOutput } from "#bench/idle/wait-for-output.ts";
import { startProcess } from "#emulators/harness/managed-process.ts";

/** A running relay, as visible from outside. */
export interface RelayProcess {
  readonly pid: number;
  /** Returns sums over the clusters, from its own metrics. */
  state(): Promise<RelayState>;
  heap(): Promise<NodeJS.MemoryUsage>;
  stop(): Promise<void>;
}

export interface RelayState {
  readonly readyClusters: number;
  /** Objects of the node controller; other controllers follow the same nodes. */
  readonly objects: number;
  /** Objects that need work, or whose work is in progress. */
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
        // Each node of each cluster has its own line; only the newest matter here.
        if (said.length > MAX_SAID && url !== undefined) said = said.slice(-MAX_SAID);
        url ??= /"event":"Serving","url":"([^"]+)"/.exec(said)?.[1];
      },
    },
  );
  let url: string | undefined;
  try {
    await waitForOutput(program, () => url !== undefined, "the relay", START_TIMEOUT_MS);
  } catch (error) {
    await program.stop("SIGKILL");
    throw error;
  }
  const heapLines = (): readonly string[] => said.match(/^memory \{.*\}$/gm) ?? [];
  return {
    pid: program.pid,
    state: async () => {
      if (program.hasExited()) throw new Error(`the relay ended: ${program.output()}`);
      return parseRelayState(await (await fetch(`${url}/metrics`)).text());
    },
    heap: async () => {
      said = "";
      process.kill(program.pid, "SIGUSR2");
      await waitForOutput(program, () => heapLines().length > 0, "the relay's answer", START_TIMEOUT_MS);
      return JSON.parse(heapLines().at(-1)?.slice("memory ".length) ?? "{}") as NodeJS.MemoryUsage;
    },
    stop: () => program.stop("SIGTERM"),
  };
}

/** A relay of 5,000 nodes writes less than this between two reads. */
const MAX_SAID = 1_000_000;

/**
 * Loaded before the program: a signal requests `process.memoryUsage()`, which is unknown outside the process.
 */
const TELL_MEMORY = `data:text/javascript,${encodeURIComponent(
  'process.on("SIGUSR2", () => process.stderr.write("\\nmemory " + JSON.stringify(process.memoryUsage()) + "\\n"));',
)}`;

/** Parses the state from metrics in Prometheus's text format. */
export function parseRelayState(metrics: string): RelayState {
  return {
    readyClusters: sumSamples(metrics, "serverless_ccm_cluster_ready"),
    objects: sumSamples(metrics, "serverless_ccm_objects", 'controller="cloud-node-controller"'),
    unfinished:
      sumSamples(metrics, "serverless_ccm_pending_objects") +
      sumSamples(metrics, "serverless_ccm_in_flight_objects"),
  };
}

/** Adds up the samples of a metric, or those with this label. */
function sumSamples(metrics: string, name: string, label = ""): number {
  const values = [...metrics.matchAll(new RegExp(`^${name}(\\{.*\\})? (\\S+)$`, "gm"))];
  return values
    .filter(([, labels = ""]) => labels.includes(label))
    .reduce((sum, [, , value]) => sum + Number(value), 0);
}
