import { ClustersFileError, isFile } from "#config/clusters-file.ts";
import type { AllowedSecrets } from "#config/home/entry-references.ts";
import { fileHome } from "#config/home/file.ts";
import type { ClusterHome, ClustersOfHome } from "#config/home/home.ts";
import { pathOfParameters, ssmHome } from "#config/home/ssm/ssm-home.ts";

/** Opens homes that not every process may have; undefined where a reference is none of theirs. */
export type OpenFurther = (reference: string) => ClusterHome | undefined;

/**
 * The home that `--clusters-file` or CLUSTERS_FILE names: `ssm:/PATH/`, what `further` opens, or a file. What names none is a home
 * that nobody can read, so that it is reported where others are.
 */
export function openHome(
  reference: string,
  allowedSecrets: AllowedSecrets,
  further: OpenFurther = () => undefined,
): ClusterHome {
  if (isFile(reference)) return fileHome(reference);
  const path = pathOfParameters(reference);
  if (path !== undefined) return ssmHome(path, { allowedSecrets });
  return further(reference) ?? noHome(reference);
}

function noHome(reference: string): ClusterHome {
  const message = reference.startsWith("ssm:")
    ? "is no path of parameters; write it as ssm:/serverless-ccm/clusters/, and not under /aws or /ssm"
    : "cannot be read here: a management cluster is read by the relay and the command line, as its kubeconfigs are an administrator's";
  const error = new ClustersFileError("Invalid", reference, [{ path: "", message }]);
  const reject = (): Promise<never> => Promise.reject(error);
  const byName: ClustersOfHome = Object.assign(reject, { all: reject, named: reject, ahead: reject });
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
