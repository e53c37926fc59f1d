import type { Cluster } from "#config/cluster.ts";
import {
  type ClustersFile,
  clustersFileOf,
  type FaultyEntry,
  parseEntryDocument,
} from "#config/clusters-file.ts";
import { type AllowedSecrets, findRefusedReferences } from "#config/home/entry-references.ts";
import type { Parameter } from "#config/home/ssm/parameter-store.ts";

/** The entries of parameters under a path that ends with `/`, those written first at first; each has the name of its parameter. */
export function entriesOfParameters(
  path: string,
  parameters: readonly Parameter[],
  allowedSecrets: AllowedSecrets,
): ClustersFile {
  // A list that moves while it is paged may show one twice; the later page is the later state.
  const byName = new Map(parameters.map((parameter) => [parameter.name, parameter]));
  const byAge = [...byName.values()].sort((a, b) => ageOf(a) - ageOf(b));
  return clustersFileOf(byAge.map((parameter) => entryOfParameter(path, parameter, allowedSecrets)));
}

/** SSM tells when a parameter was written last, and not when it was made; one without a time is the youngest. */
function ageOf({ modifiedAt }: Parameter): number {
  return modifiedAt ?? Number.MAX_SAFE_INTEGER;
}

/** What one parameter says. */
export function entryOfParameter(
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
