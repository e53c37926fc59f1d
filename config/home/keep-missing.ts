import type { ClustersFile } from "#config/clusters-file.ts";

/** What was read, with what is missing since the last time as it was then, until it is missing twice. */
export interface KeptMissing {
  take(read: ClustersFile): { readonly content: ClustersFile; readonly isDoubted: boolean };
}

/** Doubts what is missing for the first time: a store that catches up with its own writes may not show all that it has. */
export function keepMissing(): KeptMissing {
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
