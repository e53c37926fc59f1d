import type { Cluster } from "#config/cluster.ts";
import { type ClustersFile, clustersFileOf, type FaultyEntry, isFaulty } from "#config/clusters-file.ts";
import {
  defaultName,
  type EntryOfFoundOptions,
  entryOfFound,
} from "#config/home/kubernetes/entry-of-found.ts";
import { describedBy, type FoundCluster, SECRETS, Secret } from "#config/home/kubernetes/found-cluster.ts";
import type { Found } from "#config/home/kubernetes/sources.ts";
import type { FoundControlPlane } from "#config/home/kubernetes/tenant-control-plane.ts";
import { messageOf } from "#core/message-of.ts";
import { objectPath } from "#core/resources/resource.ts";
import { classifyAnswer, parseJson } from "#kube/client/answer.ts";
import type { Transport } from "#kube/client/transport.ts";

/** The entries of all that was found, the oldest object's first. Of several with one name the oldest has it, the others are held. */
export async function entriesOfFound(
  found: readonly Found[],
  transport: Transport,
  options: EntryOfFoundOptions,
  signal?: AbortSignal,
): Promise<ClustersFile> {
  const read = await readFound(found, transport, options, signal);
  const byName = Map.groupBy(read, ({ entry }) => entry.name);
  return clustersFileOf(
    read.map(({ entry, found }) => {
      const [oldest] = entry.name === undefined ? [] : (byName.get(entry.name) ?? []);
      return oldest === undefined || oldest.found === found
        ? entry
        : sameName(entry, found, oldest.found.place, (name) => byName.has(name));
    }),
  );
}

/** What was found, the oldest object's first, each with what its entry comes to by itself. */
export async function readFound(
  found: readonly Found[],
  transport: Transport,
  options: EntryOfFoundOptions,
  signal?: AbortSignal,
): Promise<readonly { readonly found: FoundCluster; readonly entry: Cluster | FaultyEntry }[]> {
  const clusters = await Promise.all(
    found.map((each) =>
      each.kind === "cluster" ? each.cluster : clusterOfControlPlane(each.plane, transport, signal),
    ),
  );
  const byAge = clusters.toSorted((a, b) => a.createdAtMs - b.createdAtMs || (a.place < b.place ? -1 : 1));
  return byAge.map((found) => ({ found, entry: entryOfFound(found, options) }));
}

/** It is reported under a name that is nobody else's, so that what is wrong with it is not the other cluster's. */
function sameName(
  entry: Cluster | FaultyEntry,
  found: FoundCluster,
  older: string,
  isTaken: (name: string) => boolean,
): FaultyEntry {
  const { place } = found;
  const message = `${entry.name} is the name of ${older}, which is older: this entry is held until the object has another one by the annotation serverless-ccm.io/name`;
  const fault = { path: "name", document: place, subject: `cluster ${entry.name}: name`, message };
  const name = isTaken(defaultName(found)) ? place : defaultName(found);
  return { name, held: "SameName", faults: [...(isFaulty(entry) ? entry.faults : []), fault] };
}

/** A control plane by the Secret that it names; what of it is read besides where its API server is, is not kept. */
async function clusterOfControlPlane(
  { secret, endpoint: _, ...plane }: FoundControlPlane,
  transport: Transport,
  signal: AbortSignal | undefined,
): Promise<FoundCluster> {
  const place = `secret ${secret.namespace}/${secret.name}`;
  const fault = (message: string): FoundCluster => ({ ...plane, described: { kind: "fault", message } });
  try {
    const answer = await transport.send({
      method: "GET",
      path: objectPath(SECRETS, secret),
      ...(signal === undefined ? {} : { signal }),
    });
    if (answer.status !== 200) {
      const said = classifyAnswer(answer);
      return fault(`its ${place} cannot be read: ${"message" in said ? said.message : answer.status}`);
    }
    const read = Secret.safeParse(parseJson(answer.body)).data;
    if (read === undefined) return fault(`its ${place} is no Secret`);
    return { ...plane, described: describedBy(read, secret.key) };
  } catch (error) {
    return fault(`its ${place} cannot be read: ${messageOf(error)}`);
  }
}
