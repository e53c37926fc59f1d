import type { ClustersFile } from "#config/clusters-file.ts";

/**
 * Of a home's content, what a replica is to know. An entry whose name cannot be told is everybody's: while there is one, nobody takes a
 * cluster for gone, which might be it.
 */
export function shardOf(content: ClustersFile, isOwn: (name: string) => boolean): ClustersFile {
  return {
    clusters: content.clusters.filter(({ name }) => isOwn(name)),
    faulty: content.faulty.filter(({ name }) => name === undefined || isOwn(name)),
  };
}

/** The names in a home's content, each once. */
export function namesIn({ clusters, faulty }: ClustersFile): ReadonlySet<string> {
  return new Set([...clusters, ...faulty].flatMap(({ name }) => name ?? []));
}
