import { brakeInOneLine, brakeLines, summaryOfBrake } from "#cli/brake-lines.ts";
import { FoundFaults } from "#cli/clusters.ts";
import { ConfigurationError } from "#cli/configuration-error.ts";
import {
  type ActOnCluster,
  actOnEveryCluster,
  areAllWell,
  summarizeClusters,
  sumOf,
} from "#cli/every-cluster.ts";
import { type ReachableCluster, type ReachFlags, reachCluster } from "#cli/reach-cluster.ts";
import { letGoOfBrake, usableState } from "#cli/reset-brake.ts";
import type { Environment } from "#clouds/kind.ts";
import { cloudKindOf } from "#clouds/kinds.ts";
import { jsonLine } from "#core/json-line.ts";
import { NODES } from "#core/resources/resource.ts";
import { shown } from "#core/shown-text.ts";
import { countObjects } from "#kube/apply/read.ts";
import type { Transport } from "#kube/client/transport.ts";

/** The flags of `brake`. */
export interface BrakeFlags extends ReachFlags {
  readonly reset?: boolean | undefined;
  readonly json?: boolean | undefined;
  /** All clusters of the home. */
  readonly all?: boolean | undefined;
}

type Write = (line: string) => void;

/** Everything together; one request takes ten seconds at the most. */
const TIMEOUT_MS = 60_000;

/** What `brake` is asked for by words: `[show | reset] [CLUSTER]`. A cluster that has one of these names is named behind the word. */
export function readBrakeWords(
  [first, second]: readonly (string | undefined)[],
  reset: boolean,
): { readonly cluster: string | undefined; readonly reset: boolean } {
  const isWord = first === "show" || first === "reset";
  if (!isWord && second !== undefined) {
    const message = `is "${shown(second)}": one cluster is expected, or show or reset before its name; all of them by --all`;
    throw new ConfigurationError([{ name: "CLUSTER", message }]);
  }
  if (first === "show" && reset)
    throw new ConfigurationError([
      { name: "--reset", message: "contradicts show; leave one of the two out" },
    ]);
  return isWord ? { cluster: second, reset: reset || first === "reset" } : { cluster: first, reset };
}

/**
 * Shows the state of deletion of a cluster, and lets its brake go where that is asked for; rejects where there is no usable state. With `all`
 * it does so in every cluster, a line each.
 */
export async function brake(
  name: string | undefined,
  flags: BrakeFlags,
  write: Write,
  environment: Environment = process.env,
): Promise<void> {
  if (flags.all === true) return brakeOfAll(name, flags, write, environment);
  const reached = await reachCluster(name, flags, environment, { noCloud: true });
  try {
    const { summary, reset, now } = await readBrake(reached, flags.reset === true);
    const { deletion } = reached.cluster.nodes;
    if (flags.json === true) write(jsonLine({ cluster: reached.cluster.name, ...summary, ...reset }));
    else {
      if (reset !== undefined) write(reset.message);
      const { scaleIn } = cloudKindOf(reached.cluster.cloud);
      for (const line of brakeLines(summary, deletion, now, scaleIn)) write(line);
    }
  } finally {
    await reached.close();
  }
}

async function brakeOfAll(
  name: string | undefined,
  flags: BrakeFlags,
  write: Write,
  environment: Environment,
): Promise<void> {
  const act: ActOnCluster = async (reached) => {
    const { summary, reset, now } = await readBrake(reached, flags.reset === true);
    if (flags.json === true) write(jsonLine({ cluster: reached.cluster.name, ...summary, ...reset }));
    const { deletion } = reached.cluster.nodes;
    return reset?.reset === true ? reset.message : brakeInOneLine(summary, deletion, now);
  };
  const outcomes = await actOnEveryCluster(name, flags, act, { write, environment, noCloud: true });
  if (flags.json !== true) return summarizeClusters(outcomes, write);
  for (const { cluster, outcome, message } of outcomes)
    if (outcome !== "ok") write(jsonLine({ cluster, error: message }));
  if (!areAllWell(outcomes)) throw new FoundFaults(sumOf(outcomes));
}

async function readBrake({ cluster, api }: ReachableCluster, isReset: boolean) {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const transport = await api("node-lifecycle");
  const reset = isReset ? await letGoOfBrake(transport, cluster.name, signal) : undefined;
  const { state } = await usableState(transport, signal);
  const now = new Date();
  const nodes = await nodesOf(transport, signal);
  return { reset, now, summary: summaryOfBrake(state, cluster.nodes.deletion, nodes, now) };
}

/** From the API server's own count; undefined where this identity may not list nodes, or the server does not say. */
async function nodesOf(transport: Transport, signal: AbortSignal): Promise<number | undefined> {
  const counted = await countObjects(transport, NODES, signal);
  return counted.kind === "count" ? counted.count : undefined;
}
