import { ago, line } from "#cli/brake-lines.ts";
import { counted } from "#cli/counted.ts";
import { someOf } from "#cli/some-of.ts";
import { clustersOf, countedDeletions, mostClusters } from "#core/node-lifecycle/fleet-brake.ts";
import {
  type FleetBrake,
  type FleetLimit,
  type FleetRecord,
  MAX_FLEET_DELETIONS,
} from "#core/node-lifecycle/fleet-record.ts";

/** What the record of a fleet comes to at a moment. */
export interface FleetBrakeSummary {
  readonly brake: FleetBrake | undefined;
  /** Deletions of the last ten minutes, by cluster. */
  readonly deletions: Readonly<Record<string, number>>;
  readonly mostDeletions: number;
  readonly mostClusters: number;
  /** How many there are, as far as that was noted. */
  readonly clusters: number | undefined;
  readonly written: string | undefined;
}

/** Sums the record up. */
export function summaryOfFleetBrake(record: FleetRecord, now: Date): FleetBrakeSummary {
  const { brake, clusters, written } = record;
  const recent = countedDeletions(record, now);
  const deletions = Object.fromEntries(
    [...clustersOf(recent)].map((name) => [name, recent.filter(({ cluster }) => cluster === name).length]),
  );
  return {
    brake,
    deletions,
    mostDeletions: MAX_FLEET_DELETIONS,
    mostClusters: mostClusters(clusters),
    clusters,
    written,
  };
}

/** The same for people. */
export function fleetBrakeLines(summary: FleetBrakeSummary, now: Date): readonly string[] {
  const { brake, deletions, mostDeletions, clusters, written } = summary;
  const all = Object.entries(deletions);
  const sum = all.reduce((total, [, count]) => total + count, 0);
  const known = clusters === undefined ? "how many there are is not noted" : `there are ${clusters}`;
  return [
    line(
      "fleet",
      brake === undefined ? "not pulled" : `pulled ${ago(brake.since, now)}: ${WHY[brake.limit]}`,
    ),
    ...(brake === undefined ? [] : [line("", atThatMoment(brake))]),
    line(
      "10 minutes",
      `${counted(sum, "deletion")} that ${sum === 1 ? "counts" : "count"}, of at most ${mostDeletions}`,
    ),
    line("clusters", `${all.length} with such deletions, of at most ${summary.mostClusters}; ${known}`),
    ...(all.length === 0
      ? []
      : [
          line(
            "of",
            someOf(
              all.map(([name, count]) => `${name} (${count})`),
              MAX_NAMED,
            ),
          ),
        ]),
    line("written", written === undefined ? "never" : ago(written, now)),
  ];
}

const MAX_NAMED = 20;

const WHY: Readonly<Record<FleetLimit, string>> = {
  Deletions: "too many nodes in 10 minutes",
  Clusters: "nodes of too many clusters in 10 minutes",
};

function atThatMoment({ deletions, clusters, cluster, waiting }: FleetBrake): string {
  return `${counted(deletions, "deletion")} by then in ${counted(clusters, "cluster")}, and ${counted(waiting, "node")} of ${cluster} that would have gone too`;
}
