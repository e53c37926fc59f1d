import { ChecksFailedError } from "#cli/clusters/clusters.ts";
import {
  type ActOnCluster,
  actOnEveryCluster,
  formatOutcomeCounts,
  haveAllSucceeded,
  summarizeClusters,
} from "#cli/clusters/every-cluster.ts";
import { connectCluster, type ReachableCluster, type ReachFlags } from "#cli/clusters/reach-cluster.ts";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { formatBrake, formatBrakeInOneLine, summarizeBrake } from "#cli/deletion/brake-lines.ts";
import { readUsableState, releaseBrake } from "#cli/deletion/reset-brake.ts";
import type { Environment } from "#clouds/provider.ts";
import { getCloudProvider } from "#clouds/providers.ts";
import { formatJsonLine } from "#core/log-text.ts";
import { NODES } from "#core/resources/resource.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { countObjects } from "#kube/apply/read.ts";
import type { Transport } from "#kube/client/transport.ts";

/** The flags of `brake`. */
export interface BrakeFlags extends ReachFlags {
  readonly reset?: boolean | undefined;
  readonly json?: boolean | undefined;
  /** Selects all clusters of the registry. */
  readonly all?: boolean | undefined;
}

type Write = (line: string) => void;

/** The time limit of the whole command; one request takes ten seconds at most. */
const TIMEOUT_MS = 60_000;

/**
 * Reads the arguments `[show | reset] [CLUSTER]`. A cluster with one of these names is named after the word.
 */
export function readBrakeWords(
  [first, second]: readonly (string | undefined)[],
  reset: boolean,
): { readonly cluster: string | undefined; readonly reset: boolean } {
  const isWord = first === "show" || first === "reset";
  if (!isWord && second !== undefined) {
    const message = `is "${sanitizeText(second)}": one cluster is expected, or show or reset before its name; all of them by --all`;
    throw new ConfigurationError([{ name: "CLUSTER", message }]);
  }
  if (first === "show" && reset)
    throw new ConfigurationError([
      { name: "--reset", message: "contradicts show; leave one of the two out" },
    ]);
  return isWord ? { cluster: second, reset: reset || first === "reset" } : { cluster: first, reset };
}

/**
 * Shows the deletion state of a cluster, and releases its brake on request; rejects if there is no usable
 * state. With `all` it does so in every cluster, one line each.
 */
export async function runBrake(
  name: string | undefined,
  flags: BrakeFlags,
  write: Write,
  environment: Environment = process.env,
): Promise<void> {
  if (flags.all === true) return runBrakeForAll(name, flags, write, environment);
  const reached = await connectCluster(name, flags, environment, { noCloud: true });
  try {
    const { summary, reset, now } = await readBrake(reached, flags.reset === true);
    const { deletion } = reached.cluster.nodes;
    if (flags.json === true) write(formatJsonLine({ cluster: reached.cluster.name, ...summary, ...reset }));
    else {
      if (reset !== undefined) write(reset.message);
      const { scaleIn } = getCloudProvider(reached.cluster.cloud);
      for (const line of formatBrake(summary, deletion, now, scaleIn)) write(line);
    }
  } finally {
    await reached.close();
  }
}

async function runBrakeForAll(
  name: string | undefined,
  flags: BrakeFlags,
  write: Write,
  environment: Environment,
): Promise<void> {
  const act: ActOnCluster = async (reached) => {
    const { summary, reset, now } = await readBrake(reached, flags.reset === true);
    if (flags.json === true) write(formatJsonLine({ cluster: reached.cluster.name, ...summary, ...reset }));
    const { deletion } = reached.cluster.nodes;
    return reset?.reset === true ? reset.message : formatBrakeInOneLine(summary, deletion, now);
  };
  const outcomes = await actOnEveryCluster(name, flags, act, { write, environment, noCloud: true });
  if (flags.json !== true) return summarizeClusters(outcomes, write);
  for (const { cluster, outcome, message } of outcomes)
    if (outcome !== "ok") write(formatJsonLine({ cluster, error: message }));
  if (!haveAllSucceeded(outcomes)) throw new ChecksFailedError(formatOutcomeCounts(outcomes));
}

async function readBrake({ cluster, api }: ReachableCluster, isReset: boolean) {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const transport = await api("node-lifecycle");
  const reset = isReset ? await releaseBrake(transport, cluster.name, signal) : undefined;
  const { state } = await readUsableState(transport, signal);
  const now = new Date();
  const nodes = await countNodes(transport, signal);
  return { reset, now, summary: summarizeBrake(state, cluster.nodes.deletion, nodes, now) };
}

/**
 * Reads the API server's own count. Undefined if this identity may not list nodes, or the server does not
 * report it.
 */
async function countNodes(transport: Transport, signal: AbortSignal): Promise<number | undefined> {
  const counted = await countObjects(transport, NODES, signal);
  return counted.kind === "count" ? counted.count : undefined;
}
