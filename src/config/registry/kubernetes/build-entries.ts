import type { Cluster } from "#config/cluster.ts";
import { buildClustersFile, type ClustersFile, type FaultyEntry, isFaulty } from "#config/clusters-file.ts";
import {
  type BuildEntryOptions,
  buildEntry,
  getDefaultName,
} from "#config/registry/kubernetes/build-entry.ts";
import {
  describeKubeconfigSecret,
  type FoundCluster,
  SECRETS,
  Secret,
} from "#config/registry/kubernetes/found-cluster.ts";
import type { FoundObject } from "#config/registry/kubernetes/sources.ts";
import type { FoundControlPlane } from "#config/registry/kubernetes/tenant-control-plane.ts";
import { parseJson } from "#core/parse-json.ts";
import { formatObjectPath } from "#core/resources/resource.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { classifyAnswer } from "#kube/client/answer.ts";
import type { Transport } from "#kube/client/transport.ts";

/**
 * Builds the entries of all clusters found, oldest object first. The oldest object with a name gets it; the
 * others are held.
 */
export async function buildEntries(
  found: readonly FoundObject[],
  transport: Transport,
  options: BuildEntryOptions,
  signal?: AbortSignal,
): Promise<ClustersFile> {
  const read = await readFound(found, transport, options, signal);
  const byName = Map.groupBy(read, ({ entry }) => entry.name);
  return buildClustersFile(
    read.map(({ entry, found }) => {
      const [oldest] = entry.name === undefined ? [] : (byName.get(entry.name) ?? []);
      return oldest === undefined || oldest.found === found
        ? entry
        : createDuplicateNameError(entry, found, oldest.found.place, (name) => byName.has(name));
    }),
  );
}

/** Returns what was found, oldest object first, each with its own entry. */
export async function readFound(
  found: readonly FoundObject[],
  transport: Transport,
  options: BuildEntryOptions,
  signal?: AbortSignal,
): Promise<readonly { readonly found: FoundCluster; readonly entry: Cluster | FaultyEntry }[]> {
  const clusters = await Promise.all(
    found.map((each) =>
      each.kind === "cluster" ? each.cluster : readControlPlaneCluster(each.plane, transport, signal),
    ),
  );
  const byAge = clusters.toSorted((a, b) => a.createdAtMs - b.createdAtMs || (a.place < b.place ? -1 : 1));
  return byAge.map((found) => ({ found, entry: buildEntry(found, options) }));
}

/** The error is reported under a unique name, so that it does not affect the other cluster. */
function createDuplicateNameError(
  entry: Cluster | FaultyEntry,
  found: FoundCluster,
  older: string,
  isTaken: (name: string) => boolean,
): FaultyEntry {
  const { place } = found;
  const message = `${entry.name} is the name of ${older}, which is older: this entry is held until the object has another one by the annotation serverless-ccm.io/name`;
  const fault = { path: "name", document: place, subject: `cluster ${entry.name}: name`, message };
  const name = isTaken(getDefaultName(found)) ? place : getDefaultName(found);
  return { name, held: "SameName", faults: [...(isFaulty(entry) ? entry.faults : []), fault] };
}

/** Reads a control plane from the Secret that it names; only its API server is kept. */
async function readControlPlaneCluster(
  { secret, endpoint: _, ...plane }: FoundControlPlane,
  transport: Transport,
  signal: AbortSignal | undefined,
): Promise<FoundCluster> {
  const place = `secret ${secret.namespace}/${secret.name}`;
  const fault = (message: string): FoundCluster => ({ ...plane, described: { kind: "fault", message } });
  try {
    const answer = await transport.send({
      method: "GET",
      path: formatObjectPath(SECRETS, secret),
      ...(signal === undefined ? {} : { signal }),
    });
    if (answer.status !== 200) {
      const said = classifyAnswer(answer);
      return fault(`its ${place} cannot be read: ${"message" in said ? said.message : answer.status}`);
    }
    const read = Secret.safeParse(parseJson(answer.body)).data;
    if (read === undefined) return fault(`its ${place} is not a Secret`);
    return { ...plane, described: describeKubeconfigSecret(read, secret.key) };
  } catch (error) {
    return fault(`its ${place} cannot be read: ${getErrorMessage(error)}`);
  }
}
