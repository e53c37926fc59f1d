import type { ClusterSweep } from "#sweep/sweep-cluster.ts";

/** One line of a log, as `LogLine` of the core has it but for the time. */
export type SweepLine = Readonly<Record<string, unknown>>;

/** Names of clusters in one line. */
const MAX_NAMED = 25;

/**
 * What is worth saying of a shard: a line for each cluster that was listed or could not be swept, and one for all those whose Leases
 * are fresh, as there may be a thousand of them a minute.
 */
export function sweepLines(sweeps: readonly ClusterSweep[]): readonly SweepLine[] {
  const isQuiet = ({ mode, because }: ClusterSweep): boolean => mode === "lease" && because === undefined;
  const quiet = sweeps.filter(isQuiet);
  const lines = sweeps.filter((each) => !isQuiet(each) && each.mode !== "none").map(lineOf);
  if (quiet.length === 0) return lines;
  const leaseMs = Math.max(...quiet.map((each) => each.leaseMs));
  const facts = {
    mode: "lease",
    lease: "fresh",
    clusters: quiet.length,
    listed: 0,
    overdue: 0,
    invocations: 0,
  };
  return [...lines, { level: "info", event: "SweepFinished", ...facts, leaseMs }];
}

/** Which clusters no sweep was tried of, and why. */
export function unsweptLine(clusters: readonly string[], code: string, message: string): SweepLine {
  const names = clusters.slice(0, MAX_NAMED);
  return { level: "error", event: "SweepNotDone", code, message, clusters: clusters.length, names };
}

function lineOf(sweep: ClusterSweep): SweepLine {
  const { cluster, mode, lease, listed, overdue, orphans, invocations, reported, unreported, because } =
    sweep;
  const facts = {
    cluster,
    mode,
    lease,
    listed,
    overdue,
    orphans,
    invocations,
    objects: reported,
    unreported,
  };
  const durations = { leaseMs: sweep.leaseMs, durationMs: sweep.durationMs };
  const isWell = because === undefined && overdue === 0 && mode !== "full";
  return { level: isWell ? "info" : "warn", event: "SweepFinished", ...facts, because, ...durations };
}
