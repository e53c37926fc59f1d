import { FoundFaults } from "#cli/clusters.ts";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { counted } from "#cli/counted.ts";
import { endingSignal } from "#cli/ending-signal.ts";
import { type ReachableCluster, type ReachFlags, reachCluster, reachClusters } from "#cli/reach-cluster.ts";
import type { ClusterNeeds } from "#cli/settings.ts";
import type { Environment } from "#clouds/kind.ts";
import { messageOf } from "#core/message-of.ts";
import { shown } from "#core/shown-text.ts";
import { startAtMost } from "#kube/client/slots.ts";

/** What a command does in one cluster: it resolves with the cluster's line of the summary, and rejects where the cluster failed. */
export type ActOnCluster = (reached: ReachableCluster, write: Write, fleet: Fleet) => Promise<string>;

/** The clusters that are still to come. */
export interface Fleet {
  /** Begins with no further cluster; those that have begun go on to their end. */
  halt(): void;
}

/** What became of one cluster. */
export interface ClusterOutcome {
  readonly cluster: string;
  readonly outcome: "ok" | "failed" | "not begun";
  readonly message: string;
}

type Write = (line: string) => void;

/** Clusters that a command works in side by side. */
const MAX_AT_ONCE = 8;
const MAX_CHARACTERS = 1_000;

/**
 * Does the same in all clusters of a home, eight at a time, and resolves with what became of each, in the order of the home; faulty entries
 * have failed. SIGINT and SIGTERM begin no further one. Lines of a cluster begin with its name. Throws `ConfigurationError` where the home
 * cannot be read, or a cluster is named beside `--all`.
 */
export async function actOnEveryCluster(
  name: string | undefined,
  flags: ReachFlags,
  act: ActOnCluster,
  { write, environment = process.env, ...needs }: EveryClusterOptions,
): Promise<readonly ClusterOutcome[]> {
  if (name !== undefined)
    throw new ConfigurationError([
      { name: "--all", message: `stands beside ${shown(name)}; give one of the two` },
    ]);
  const { clusters, faults } = await reachClusters(undefined, flags, environment, needs);
  const ending = endingSignal(undefined);
  let isHalted = false;
  const halt = (): void => {
    isHalted = true;
  };
  async function outcomeIn(reached: ReachableCluster): Promise<ClusterOutcome> {
    const cluster = reached.cluster.name;
    try {
      if (isHalted || ending.signal.aborted) return { cluster, outcome: "not begun", message: NOT_BEGUN };
      const tell = (line: string): void => write(`${cluster}: ${line}`);
      return { cluster, outcome: "ok", message: await act(reached, tell, { halt }) };
    } catch (error) {
      return { cluster, outcome: "failed", message: sentenceOf(error) };
    } finally {
      await reached.close();
    }
  }
  try {
    const outcomes = await Promise.all(startAtMost(MAX_AT_ONCE, clusters, outcomeIn));
    const faulty = faults.map((fault) => ({
      cluster: fault.name,
      outcome: "failed" as const,
      message: fault.message,
    }));
    return [...outcomes, ...faulty];
  } finally {
    ending.stop();
  }
}

/**
 * Does it in the cluster of that name, or in all of the home with `--all`, and writes what it came to: one line, or a summary. Rejects as
 * it does in one cluster, and with `FoundFaults` where not all are well.
 */
export async function actOnClusters(
  name: string | undefined,
  flags: ReachFlags & { readonly all?: boolean | undefined },
  act: ActOnCluster,
  options: EveryClusterOptions,
): Promise<void> {
  const { write, environment = process.env, ...needs } = options;
  if (flags.all === true) return summarizeClusters(await actOnEveryCluster(name, flags, act, options), write);
  const reached = await reachCluster(name, flags, environment, needs);
  try {
    write(await act(reached, write, ALONE));
  } finally {
    await reached.close();
  }
}

/** Of one cluster there are no others to come. */
const ALONE: Fleet = { halt: () => undefined };

export interface EveryClusterOptions extends ClusterNeeds {
  readonly write: Write;
  readonly environment?: Environment;
}

const NOT_BEGUN = "left as it is; give the command again once the others are well";

/** Writes a line for each cluster, and how many came to what; throws `FoundFaults` with that where not all are well. */
export function summarizeClusters(outcomes: readonly ClusterOutcome[], write: Write): void {
  const width = Math.max(0, ...outcomes.map(({ cluster }) => cluster.length));
  for (const { cluster, outcome, message } of outcomes)
    write(`${cluster.padEnd(width)}  ${outcome.padEnd(OUTCOME_WIDTH)}  ${shown(message, MAX_CHARACTERS)}`);
  const sum = sumOf(outcomes);
  if (!areAllWell(outcomes)) throw new FoundFaults(sum);
  write(sum);
}

/** Whether nothing failed, and nothing was left out. */
export function areAllWell(outcomes: readonly ClusterOutcome[]): boolean {
  return outcomes.every(({ outcome }) => outcome === "ok");
}

/** How many clusters came to what. */
export function sumOf(outcomes: readonly ClusterOutcome[]): string {
  const kinds = ["ok", "failed", "not begun"] as const;
  const counts = kinds.map(
    (kind) => [outcomes.filter(({ outcome }) => outcome === kind).length, kind] as const,
  );
  const parts = counts.filter(([count]) => count > 0).map(([count, kind]) => `${count} ${kind}`);
  return `${counted(outcomes.length, "cluster")}: ${parts.join(", ") || "nothing to do"}`;
}

/** `not begun` has nine letters. */
const OUTCOME_WIDTH = 9;

/** An error in one line. */
function sentenceOf(error: unknown): string {
  if (!(error instanceof ConfigurationError)) return messageOf(error);
  return error.faults.map(({ name, message }) => `${name}: ${message}`).join("; ");
}
