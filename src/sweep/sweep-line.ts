import type { ClusterSweep } from "#sweep/sweep-cluster.ts";

/** One log line: `LogLine` of the core without the time. */
export type SweepLine = Readonly<Record<string, unknown>>;

/** Limit of cluster names in one line. */
const MAX_NAMED = 25;

/**
 * Builds the log lines of a shard: one for each cluster that was listed or failed, and one for all with fresh
 * Leases, of which there may be a thousand a minute.
 */
export function buildSweepLines(sweeps: readonly ClusterSweep[]): readonly SweepLine[] {
  const isQuiet = ({ mode, because }: ClusterSweep): boolean => mode === "lease" && because === undefined;
  const quiet = sweeps.filter(isQuiet);
  const lines = sweeps.filter((each) => !isQuiet(each) && each.mode !== "none").map(buildSweepLine);
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

/** Builds the line for clusters whose sweep was not attempted, with the reason. */
export function buildUnsweptLine(clusters: readonly string[], code: string, message: string): SweepLine {
  const names = clusters.slice(0, MAX_NAMED);
  return { level: "error", event: "SweepNotDone", code, message, clusters: clusters.length, names };
}

function buildSweepLine(sweep: ClusterSweep): SweepLine {
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
