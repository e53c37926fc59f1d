import { type ClustersOfFile, readClustersFile } from "#config/read-clusters-file.ts";

/** The clusters of the file that CLUSTERS_FILE names; all of it rejects where that is not set. */
export function clustersOfFile(file: string | undefined): ClustersOfFile {
  if (file !== undefined) return readClustersFile(file);
  const reject = (): Promise<never> =>
    Promise.reject(new Error("CLUSTERS_FILE is not set: it names the YAML file of clusters"));
  return Object.assign(reject, { all: reject });
}
