import type { ClustersFile } from "#config/clusters-file.ts";

/** The last content, which keeps a missing entry until two reads in a row lack it. */
export interface MissingEntryCache {
  take(read: ClustersFile): { readonly content: ClustersFile; readonly isDoubted: boolean };
}

/**
 * Keeps entries that are missing for the first time: an eventually consistent store may not list all of them.
 */
export function keepMissing(): MissingEntryCache {
  let last: ClustersFile = { clusters: [], faulty: [] };
  let doubted: ReadonlySet<string> = new Set();
  return {
    take(read) {
      const names = new Set([...read.clusters, ...read.faulty].flatMap(({ name }) => name ?? []));
      const isMissing = ({ name }: { readonly name: string | undefined }): boolean =>
        name !== undefined && !names.has(name) && !doubted.has(name);
      const [clusters, faulty] = [last.clusters.filter(isMissing), last.faulty.filter(isMissing)];
      doubted = new Set([...clusters, ...faulty].flatMap(({ name }) => name ?? []));
      last = { clusters: [...read.clusters, ...clusters], faulty: [...read.faulty, ...faulty] };
      return { content: last, isDoubted: doubted.size > 0 };
    },
  };
}
