import { allAreGone, type ClustersFile, hasNoEntries } from "#config/clusters-file.ts";
import { followClustersFile } from "#config/follow-clusters-file.ts";
import type { ClusterHome } from "#config/home/home.ts";
import { createOwnershipGuard } from "#config/ownership.ts";
import { readClusters, readClustersFile } from "#config/read-clusters-file.ts";

/** A YAML file of clusters as their home. */
export function fileHome(file: string): ClusterHome {
  const { hold } = createOwnershipGuard();
  let hadClusters = false;
  const take = (content: ClustersFile): ClustersFile => {
    hadClusters ||= !hasNoEntries(content);
    return hold(content);
  };
  return {
    kind: "file",
    name: file,
    read: async () => take(await readClusters(file)),
    follow: (options) =>
      followClustersFile({
        ...{ file, ...options },
        onContent(content) {
          if (hasNoEntries(content) && hadClusters) options.onError(allAreGone(file));
          else options.onContent(take(content));
        },
      }),
    byName() {
      const clusters = readClustersFile(file);
      const guard = createOwnershipGuard();
      const all = async () => guard.hold(await clusters.content()).clusters;
      // Which of two clusters is served only the relay knows: who asks for one by its name gets it.
      return Object.assign(clusters, {
        all,
        async named(names: readonly string[]) {
          const wanted = new Set(names);
          return (await all()).filter(({ name }) => wanted.has(name));
        },
        ahead: all,
      });
    },
  };
}
