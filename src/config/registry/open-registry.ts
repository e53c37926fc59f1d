import {
  type ClustersFile,
  ClustersFileError,
  createEmptyError,
  hasNoEntries,
  isFile,
} from "#config/clusters-file.ts";
import { createOwnershipGuard } from "#config/ownership.ts";
import { followClustersFile, readClusters, readClustersFile } from "#config/read-clusters-file.ts";
import type { AllowedSecrets } from "#config/registry/entry-references.ts";
import type { ClusterRegistry, RegistryClusters } from "#config/registry/registry.ts";
import { createSsmRegistry, parseSsmPath } from "#config/registry/ssm/ssm-registry.ts";

/** Opens registries that only some processes may have; undefined for other references. */
export type OpenRegistryExtension = (reference: string) => ClusterRegistry | undefined;

/**
 * Opens the registry that `--clusters-file` or CLUSTERS_FILE names: `ssm:/PATH/`, a registry that `further`
 * opens, or a file. An invalid reference gives an unreadable registry, so that the error is reported like any
 * other.
 */
export function openRegistry(
  reference: string,
  allowedSecrets: AllowedSecrets,
  further: OpenRegistryExtension = () => undefined,
): ClusterRegistry {
  if (isFile(reference)) return createFileRegistry(reference);
  const path = parseSsmPath(reference);
  if (path !== undefined) return createSsmRegistry(path, { allowedSecrets });
  return further(reference) ?? createUnreadableRegistry(reference);
}

function createUnreadableRegistry(reference: string): ClusterRegistry {
  const message = reference.startsWith("ssm:")
    ? "is not a path of parameters; write it as ssm:/serverless-ccm/clusters/, and not under /aws or /ssm"
    : "cannot be read here: a management cluster is read by the relay and the command line, as its kubeconfigs are an administrator's";
  const error = new ClustersFileError("Invalid", reference, [{ path: "", message }]);
  const reject = (): Promise<never> => Promise.reject(error);
  const byName: RegistryClusters = Object.assign(reject, { all: reject, named: reject, ahead: reject });
  return {
    kind: reference.startsWith("ssm:") ? "ssm" : "kubernetes",
    name: reference,
    read: reject,
    async follow({ onError }) {
      onError(error);
    },
    byName: () => byName,
  };
}

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
