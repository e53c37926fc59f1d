import type { ReachFlags } from "#cli/clusters/reach-cluster.ts";
import {
  findStopSwitch,
  findStopSwitchOfFlags,
  openAnySwitch,
  type StopSwitchFlags,
} from "#cli/deletion/stop-switch.ts";
import type { DryDecision } from "#cli/explain/decide-dry.ts";
import type { Environment } from "#clouds/provider.ts";
import { readStops } from "#config/switch/follow-stops.ts";
import { isFor, type StopEntry, stopIn } from "#config/switch/stops.ts";
import { getErrorMessage, sanitizeText } from "#core/sanitize-text.ts";
import { isHeldBy, type Stop } from "#core/stop.ts";

/** What operators have stopped of a cluster, or why that is unreadable; plain data. */
export interface StopStatus {
  readonly stopped: readonly StopEntry[];
  readonly unreadable?: string | undefined;
}

/** A switch in SSM takes a second; `explain` continues without an answer. */
const TIMEOUT_MS = 10_000;

/** The number of stops of one cluster that are shown. */
const MAX_NAMED = 10;
const MAX_SENTENCE = 1_000;

/**
 * Reads what is stopped of a cluster, from the switch that a relay with the same flags follows. Never
 * rejects; undefined if no switch is named.
 */
export async function readStopStatus(
  cluster: string,
  flags: Pick<ReachFlags, "clustersFile" | "given"> & StopSwitchFlags,
  environment: Environment,
): Promise<StopStatus | undefined> {
  const byFlags = flags.clustersFile === undefined && flags.given.has("--kubeconfig");
  const reference = byFlags
    ? findStopSwitchOfFlags(flags, environment)
    : findStopSwitch(flags, flags.clustersFile, environment);
  if (reference === undefined) return undefined;
  try {
    const stopSwitch = await openAnySwitch(reference, environment);
    const { stopped, unreadable } = await readStops(stopSwitch, [], AbortSignal.timeout(TIMEOUT_MS));
    return { stopped: stopped.filter((entry) => isFor(entry, cluster)), unreadable: unreadable?.message };
  } catch (error) {
    return {
      stopped: [],
      unreadable: `the stop switch ${reference} cannot be read: ${getErrorMessage(error)}`,
    };
  }
}

/** Returns one line about a stop: what, for which clusters, since when and by whom. */
export function stopLine({ what, cluster, since, by }: StopEntry): string {
  const context = cluster === undefined ? "all clusters" : `cluster ${cluster}`;
  const words = [since && `since ${since}`, by && `by ${sanitizeText(by)}`].filter(
    (each) => each !== undefined,
  );
  return `${what} of ${context} are stopped${words.length === 0 ? "" : ` ${words.join(", ")}`}`;
}

/** Returns what is stopped, line by line, and how to end each stop; no lines if nothing is stopped. */
export function stopStatusLines(status: StopStatus | undefined): readonly string[] {
  if (status === undefined) return [];
  const { stopped, unreadable } = status;
  const more = stopped.length - MAX_NAMED;
  return [
    ...stopped
      .slice(0, MAX_NAMED)
      .flatMap((entry) => [stopLine(entry), `to resume: ${formatResumeCommand(entry)}`]),
    ...(more > 0 ? [`and ${more} stops more: serverless-ccm stop`] : []),
    ...(unreadable === undefined ? [] : [sanitizeText(unreadable, MAX_SENTENCE), UNREADABLE]),
  ];
}

const UNREADABLE =
  "deletions that are not proven by themselves wait: docs/how-to/stop-it.md#when-the-switch-cannot-be-read";

function formatResumeCommand({ what, cluster }: StopEntry): string {
  return `serverless-ccm stop --resume --${what} ${cluster === undefined ? "--all" : `--cluster ${cluster}`}`;
}

/** Returns what to do first if a stop holds back what was decided; undefined if none does. */
export function stopAdvice(
  status: StopStatus | undefined,
  cluster: string,
  reports: readonly DryDecision["report"][],
): string | undefined {
  if (status === undefined) return undefined;
  const stop: Stop | undefined =
    stopIn(status.stopped, cluster) ?? (status.unreadable === undefined ? undefined : "unproven");
  if (stop === undefined) return undefined;
  if (!reports.some((report) => isHeld(report, stop))) return undefined;
  if (stop === "unproven") return `Stopped: ${UNREADABLE}`;
  return `Stopped: an operator has stopped ${stop}, which holds this back: ask that operator, then resume it`;
}

/**
 * A dry run without a decision holds back a write that several objects share, by which deletions are
 * announced.
 */
function isHeld({ because, decision }: DryDecision["report"], stop: Stop): boolean {
  if (decision === undefined) return because.code === "DryRun";
  return decision.kind === "change" && decision.writes.some((write) => isHeldBy(stop, write));
}
