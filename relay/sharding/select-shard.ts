import type { ClustersFile } from "#config/clusters-file.ts";

/**
 * Selects the part of a registry's content that a replica must know. An entry without a readable name belongs
 * to every replica: while it exists, no replica treats a cluster as removed, because the entry may be that
 * cluster's.
 */
export function selectShard(content: ClustersFile, isOwn: (name: string) => boolean): ClustersFile {
  return {
    clusters: content.clusters.filter(({ name }) => isOwn(name)),
    faulty: content.faulty.filter(({ name }) => name === undefined || isOwn(name)),
  };
}

/** Lists the names in a registry's content, each once. */
export function listClusterNames({ clusters, faulty }: ClustersFile): ReadonlySet<string> {
  return new Set([...clusters, ...faulty].flatMap(({ name }) => name ?? []));
}
