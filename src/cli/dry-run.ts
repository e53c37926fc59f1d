import type { ClustersFile } from "#config/clusters-file.ts";

/**
 * Returns the clusters with a dry run for each. Their hashes stay those of the written entries, because
 * functions read the same ones.
 */
export function toDryRun({ clusters, faulty }: ClustersFile): ClustersFile {
  const dry = clusters.map((cluster) => ({ ...cluster, policies: { ...cluster.policies, dryRun: true } }));
  return { clusters: dry, faulty };
}
