import { ChecksFailedError } from "#cli/clusters/clusters.ts";
import {
  connectCluster,
  connectClusters,
  type ReachableCluster,
  type ReachFlags,
} from "#cli/clusters/reach-cluster.ts";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { formatCounted } from "#cli/format-list.ts";
import { createEndingSignal } from "#cli/process.ts";
import type { ClusterNeeds } from "#cli/settings/cluster-settings.ts";
import type { Environment } from "#clouds/provider.ts";
import { getErrorMessage, sanitizeText } from "#core/sanitize-text.ts";
import { startAtMost } from "#kube/client/semaphore.ts";

/**
 * A command's action in one cluster. It resolves with the cluster's line of the summary, and rejects if the
 * cluster failed.
 */
export type ActOnCluster = (reached: ReachableCluster, write: Write, fleet: Fleet) => Promise<string>;

/** The clusters whose action has not started. */
export interface Fleet {
  /** Starts no further cluster; those that have started continue to their end. */
  halt(): void;
}

/** The outcome of one cluster. */
export interface ClusterOutcome {
  readonly cluster: string;
  readonly outcome: "ok" | "failed" | "not begun";
  readonly message: string;
}

type Write = (line: string) => void;

/** The number of clusters that a command handles at a time. */
const MAX_AT_ONCE = 8;
const MAX_CHARACTERS = 1_000;

/**
 * Runs an action in all clusters of a registry, eight at a time. Resolves with the outcomes in the registry's
 * order; faulty entries have failed.
 *
 * SIGINT and SIGTERM start no further one. A cluster's lines begin with its name. Throws `ConfigurationError`
 * if the registry cannot be read, or a cluster is named together with `--all`.
 */
export async function actOnEveryCluster(
  name: string | undefined,
  flags: ReachFlags,
  act: ActOnCluster,
  { write, environment = process.env, ...needs }: EveryClusterOptions,
): Promise<readonly ClusterOutcome[]> {
  if (name !== undefined)
    throw new ConfigurationError([
      { name: "--all", message: `cannot be combined with ${sanitizeText(name)}; give one of the two` },
    ]);
  const { clusters, faults } = await connectClusters(undefined, flags, environment, needs);
  const ending = createEndingSignal(undefined);
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
      return { cluster, outcome: "failed", message: formatError(error) };
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
 * Runs an action in the cluster of that name, or in all with `--all`, and prints one line or a summary.
 * Rejects as the action does in one cluster, and with `ChecksFailedError` if not all succeeded.
 */
export async function actOnClusters(
  name: string | undefined,
  flags: ReachFlags & { readonly all?: boolean | undefined },
  act: ActOnCluster,
  options: EveryClusterOptions,
): Promise<void> {
  const { write, environment = process.env, ...needs } = options;
  if (flags.all === true) return summarizeClusters(await actOnEveryCluster(name, flags, act, options), write);
  const reached = await connectCluster(name, flags, environment, needs);
  try {
    write(await act(reached, write, ALONE));
  } finally {
    await reached.close();
  }
}

/** A single cluster has no others to halt. */
const ALONE: Fleet = { halt: () => undefined };

export interface EveryClusterOptions extends ClusterNeeds {
  readonly write: Write;
  readonly environment?: Environment;
}

const NOT_BEGUN = "left as it is; give the command again once the others are well";

/**
 * Prints a line for each cluster and the number of each outcome; throws `ChecksFailedError` with those
 * numbers if not all succeeded.
 */
export function summarizeClusters(outcomes: readonly ClusterOutcome[], write: Write): void {
  const width = Math.max(0, ...outcomes.map(({ cluster }) => cluster.length));
  for (const { cluster, outcome, message } of outcomes)
    write(
      `${cluster.padEnd(width)}  ${outcome.padEnd(OUTCOME_WIDTH)}  ${sanitizeText(message, MAX_CHARACTERS)}`,
    );
  const sum = formatOutcomeCounts(outcomes);
  if (!haveAllSucceeded(outcomes)) throw new ChecksFailedError(sum);
  write(sum);
}

/** Returns whether no cluster failed and none was left out. */
export function haveAllSucceeded(outcomes: readonly ClusterOutcome[]): boolean {
  return outcomes.every(({ outcome }) => outcome === "ok");
}

/** Formats the number of clusters with each outcome. */
export function formatOutcomeCounts(outcomes: readonly ClusterOutcome[]): string {
  const kinds = ["ok", "failed", "not begun"] as const;
  const counts = kinds.map(
    (kind) => [outcomes.filter(({ outcome }) => outcome === kind).length, kind] as const,
  );
  const parts = counts.filter(([count]) => count > 0).map(([count, kind]) => `${count} ${kind}`);
  return `${formatCounted(outcomes.length, "cluster")}: ${parts.join(", ") || "nothing to do"}`;
}

/** `not begun` has nine letters. */
const OUTCOME_WIDTH = 9;

/** Formats an error in one line. */
function formatError(error: unknown): string {
  if (!(error instanceof ConfigurationError)) return getErrorMessage(error);
  return error.faults.map(({ name, message }) => `${name}: ${message}`).join("; ");
}
