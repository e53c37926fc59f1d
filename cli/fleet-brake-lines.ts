import { formatLine, formatTimeAgo } from "#cli/brake-lines.ts";
import { formatCounted } from "#cli/format-counted.ts";
import { formatList } from "#cli/format-list.ts";
import {
  getMaxClusters,
  listDeletionClusters,
  selectCountedDeletions,
} from "#core/node-lifecycle/fleet-brake.ts";
import {
  type FleetBrake,
  type FleetLimit,
  type FleetRecord,
  MAX_FLEET_DELETIONS,
} from "#core/node-lifecycle/fleet-record.ts";

/** A summary of a fleet's record at one time. */
export interface FleetBrakeSummary {
  readonly brake: FleetBrake | undefined;
  /** Deletions of the last ten minutes, by cluster. */
  readonly deletions: Readonly<Record<string, number>>;
  readonly mostDeletions: number;
  readonly mostClusters: number;
  /** The number of clusters, if it was recorded. */
  readonly clusters: number | undefined;
  readonly written: string | undefined;
}

/** Summarizes the record. */
export function summarizeFleetBrake(record: FleetRecord, now: Date): FleetBrakeSummary {
  const { brake, clusters, written } = record;
  const recent = selectCountedDeletions(record, now);
  const deletions = Object.fromEntries(
    [...listDeletionClusters(recent)].map((name) => [
      name,
      recent.filter(({ cluster }) => cluster === name).length,
    ]),
  );
  return {
    brake,
    deletions,
    mostDeletions: MAX_FLEET_DELETIONS,
    mostClusters: getMaxClusters(clusters),
    clusters,
    written,
  };
}

/** Formats the summary for people. */
export function formatFleetBrake(summary: FleetBrakeSummary, now: Date): readonly string[] {
  const { brake, deletions, mostDeletions, clusters, written } = summary;
  const all = Object.entries(deletions);
  const sum = all.reduce((total, [, count]) => total + count, 0);
  const known = clusters === undefined ? "how many there are is not noted" : `there are ${clusters}`;
  return [
    formatLine(
      "fleet",
      brake === undefined ? "not pulled" : `pulled ${formatTimeAgo(brake.since, now)}: ${WHY[brake.limit]}`,
    ),
    ...(brake === undefined ? [] : [formatLine("", formatMoment(brake))]),
    formatLine(
      "10 minutes",
      `${formatCounted(sum, "deletion")} that ${sum === 1 ? "counts" : "count"}, of at most ${mostDeletions}`,
    ),
    formatLine("clusters", `${all.length} with such deletions, of at most ${summary.mostClusters}; ${known}`),
    ...(all.length === 0
      ? []
      : [
          formatLine(
            "of",
            formatList(
              all.map(([name, count]) => `${name} (${count})`),
              MAX_NAMED,
            ),
          ),
        ]),
    formatLine("written", written === undefined ? "never" : formatTimeAgo(written, now)),
  ];
}

const MAX_NAMED = 20;

const WHY: Readonly<Record<FleetLimit, string>> = {
  Deletions: "too many nodes in 10 minutes",
  Clusters: "nodes of too many clusters in 10 minutes",
};

function formatMoment({ deletions, clusters, cluster, waiting }: FleetBrake): string {
  return `${formatCounted(deletions, "deletion")} by then in ${formatCounted(clusters, "cluster")}, and ${formatCounted(waiting, "node")} of ${cluster} that would have gone too`;
}
