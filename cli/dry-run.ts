import type { ClustersFile } from "#config/clusters-file.ts";

/** The clusters with a dry run for each. Their hashes stay those of what is written: functions read the same entries. */
export function dryRunOf({ clusters, faulty }: ClustersFile): ClustersFile {
  const dry = clusters.map((cluster) => ({ ...cluster, policies: { ...cluster.policies, dryRun: true } }));
  return { clusters: dry, faulty };
}
