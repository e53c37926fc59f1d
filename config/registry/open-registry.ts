import { ClustersFileError, isFile } from "#config/clusters-file.ts";
import type { AllowedSecrets } from "#config/registry/entry-references.ts";
import { createFileRegistry } from "#config/registry/file.ts";
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
    ? "is no path of parameters; write it as ssm:/serverless-ccm/clusters/, and not under /aws or /ssm"
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
