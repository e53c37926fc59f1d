import type { Cluster } from "#config/cluster.ts";
import {
  buildClustersFile,
  type ClustersFile,
  type FaultyEntry,
  parseEntryDocument,
} from "#config/clusters-file.ts";
import { type AllowedSecrets, findRefusedReferences } from "#config/registry/entry-references.ts";
import type { Parameter } from "#config/registry/ssm/parameter-store.ts";

/**
 * Builds the entries of the parameters under a path that ends with `/`, oldest write first. Each has the name
 * of its parameter.
 */
export function buildEntries(
  path: string,
  parameters: readonly Parameter[],
  allowedSecrets: AllowedSecrets,
): ClustersFile {
  // A list that changes while it is paged may show a parameter twice; the later page is newer.
  const byName = new Map(parameters.map((parameter) => [parameter.name, parameter]));
  const byAge = [...byName.values()].sort((a, b) => getModifiedTime(a) - getModifiedTime(b));
  return buildClustersFile(byAge.map((parameter) => parseParameter(path, parameter, allowedSecrets)));
}

/**
 * SSM returns the time of the last write, not of the creation; a parameter without a time counts as the
 * youngest.
 */
function getModifiedTime({ modifiedAt }: Parameter): number {
  return modifiedAt ?? Number.MAX_SAFE_INTEGER;
}

export function parseParameter(
  path: string,
  { name, type, value }: Parameter,
  allowedSecrets: AllowedSecrets,
): Cluster | FaultyEntry {
  const document = `ssm:${name}`;
  const clusterName = name.slice(path.length);
  const check = (cluster: Cluster) => findRefusedReferences(cluster, { allowedSecrets, ownPath: path });
  if (type === "String") return parseEntryDocument({ document, name: clusterName, text: value, check });
  const message = `is a ${type || "parameter without a type"}; an entry holds no secret: write it as a String`;
  return {
    name: clusterName,
    faults: [{ path: "", subject: `cluster ${clusterName}`, document, message }],
  };
}
