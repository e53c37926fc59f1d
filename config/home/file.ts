import { followClustersFile } from "#config/follow-clusters-file.ts";
import type { ClusterHome } from "#config/home/home.ts";
import { readClusters, readClustersFile } from "#config/read-clusters-file.ts";

/** A YAML file of clusters as their home. */
export function fileHome(file: string): ClusterHome {
  return {
    kind: "file",
    name: file,
    read: () => readClusters(file),
    follow: (options) => followClustersFile({ file, ...options }),
    byName() {
      const clusters = readClustersFile(file);
      return Object.assign(clusters, {
        async named(names: readonly string[]) {
          const wanted = new Set(names);
          return (await clusters.all()).filter(({ name }) => wanted.has(name));
        },
        ahead: clusters.all,
      });
    },
  };
}
