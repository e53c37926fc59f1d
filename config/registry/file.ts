import { type ClustersFile, createEmptyError, hasNoEntries } from "#config/clusters-file.ts";
import { followClustersFile } from "#config/follow-clusters-file.ts";
import { createOwnershipGuard } from "#config/ownership.ts";
import { readClusters, readClustersFile } from "#config/read-clusters-file.ts";
import type { ClusterRegistry } from "#config/registry/registry.ts";

/** Creates a registry from a YAML file of clusters. */
export function createFileRegistry(file: string): ClusterRegistry {
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
          if (hasNoEntries(content) && hadClusters) options.onError(createEmptyError(file));
          else options.onContent(take(content));
        },
      }),
    byName() {
      const clusters = readClustersFile(file);
      const guard = createOwnershipGuard();
      const all = async () => guard.hold(await clusters.content()).clusters;
      // Only the relay knows which of two conflicting clusters is served; a lookup by name returns the named
      // one.
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
