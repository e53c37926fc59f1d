import { FoundFaults } from "#cli/clusters.ts";
import { neededClustersFile } from "#cli/clusters-file.ts";
import { ConfigurationError, type ConfigurationFault } from "#cli/configuration-error.ts";
import { counted } from "#cli/counted.ts";
import { readAllowedSecrets } from "#cli/management-cluster.ts";
import { readParameterEntry, removeParameterEntry } from "#cli/parameter-entries.ts";
import type { Cloud, CloudCall } from "#clouds/cloud.ts";
import { loadCloud } from "#clouds/kinds.ts";
import { type Cluster, settingsOf } from "#config/cluster.ts";
import { isFaulty, isFile, parseClustersFile } from "#config/clusters-file.ts";
import { replaceClustersFile, withoutCluster } from "#config/edit-clusters-file.ts";
import { entryOfParameter } from "#config/home/ssm/entries-of-parameters.ts";
import { pathOfParameters } from "#config/home/ssm/ssm-home.ts";
import { readClustersText } from "#config/read-clusters-file.ts";
import { ClusterName } from "#core/event.ts";
import { messageOf } from "#core/message-of.ts";
import { HoldingsState } from "#core/service/holdings.ts";
import { LOAD_BALANCERS } from "#core/service/model.ts";
import { serviceWatch } from "#core/service/watch.ts";
import { TAGS, type TagsState } from "#core/tagging/model.ts";
import { loadTaggingModel } from "#functions/parts/tagging-controller.ts";

/** Which file, and whether the cluster goes whatever it leaves behind. */
export interface RemoveFlags {
  readonly clustersFile?: string | undefined;
  readonly force: boolean;
  /** Prefixes of the secrets that an entry of a home in SSM may name. */
  readonly allowedSecrets?: string | undefined;
}

/** As long as a cloud may take to list what a cluster has. */
const TIMEOUT_MS = 60_000;

/**
 * Lists what the cluster's Services have in the cloud, and takes its entry out of the clusters file, or deletes its parameter, where that
 * is nothing. Throws `FoundFaults` where there is something, or where nobody can tell: from then on nobody would look after it.
 */
export async function removeCluster(
  name: string,
  { clustersFile, force, allowedSecrets }: RemoveFlags,
  write: (line: string) => void,
): Promise<void> {
  const home = neededClustersFile(clustersFile, process.env);
  const path = pathOfParameters(home);
  if (path === undefined && !isFile(home)) throw new ConfigurationError([{ name: home, message: BY_HAND }]);
  const entry =
    path === undefined ? await entryOfFile(home, name) : await entryOfParameters(path, name, allowedSecrets);
  const left = entry.cluster === undefined ? FAULTY : await leftBehind(entry.cluster);
  for (const line of left.lines) write(line);
  if (left.because !== undefined && !force)
    throw new FoundFaults(`${left.because}; ${name} stays in ${home}, unless you add --force`);
  await entry.remove();
  write(`${name} is taken out of ${home}`);
  if (entry.isLast) write(LAST);
}

const BY_HAND =
  "is a management cluster, and nothing is deleted there by this command; delete the cluster's Secret, or take the label serverless-ccm.io/cluster off it";
const LAST =
  "it was the last one: a relay that runs goes on with it until it is started anew, as a home that is empty at once may be a mistake";

/** The entry as it stands in its home. */
interface RemovableEntry {
  /** Undefined where it is faulty. */
  readonly cluster: Cluster | undefined;
  readonly isLast: boolean;
  readonly remove: () => Promise<void>;
}

async function entryOfFile(file: string, name: string): Promise<RemovableEntry> {
  const text = await readClustersText(file).catch((error) => {
    throw new ConfigurationError([{ name: file, message: messageOf(error) }]);
  });
  const { clusters, faulty } = parseClustersFile(text, file);
  const cluster = clusters.find((each) => each.name === name);
  const edited = withoutCluster(text, file, name);
  if (cluster === undefined || edited.kind !== "edited") {
    const because = edited.kind === "refused" ? edited.because : "has no cluster of this name";
    throw new ConfigurationError([{ name: `${file}: ${name}`, message: because }]);
  }
  const isLast = clusters.length + faulty.length === 1;
  return { cluster, isLast, remove: () => replaceClustersFile(file, edited) };
}

async function entryOfParameters(
  path: string,
  name: string,
  allowedSecrets: string | undefined,
): Promise<RemovableEntry> {
  const faults: ConfigurationFault[] = [];
  const allowed = readAllowedSecrets(allowedSecrets, process.env, faults);
  if (!ClusterName.safeParse(name).success) faults.push({ name: "NAME", message: "is no name of a cluster" });
  if (faults.length > 0) throw new ConfigurationError(faults);
  const found = await readParameterEntry(path, name);
  if (found === undefined)
    throw new ConfigurationError([
      { name: `ssm:${path}${name}`, message: "is no parameter; nothing was deleted" },
    ]);
  const entry = entryOfParameter(path, found.parameter, allowed);
  return {
    cluster: isFaulty(entry) ? undefined : entry,
    // Who else is there takes a list of all.
    isLast: false,
    remove: () => removeParameterEntry(path, name, found.parameter.value),
  };
}

interface Left {
  readonly lines: readonly string[];
  /** Why the entry had better stay; undefined where nothing is left behind. */
  readonly because: string | undefined;
}

const FAULTY: Left = {
  lines: [],
  because:
    "its entry is faulty, and nobody can tell what would be left behind; see `serverless-ccm clusters check`",
};

async function leftBehind(cluster: Cluster): Promise<Left> {
  let cloud: Cloud | undefined;
  try {
    cloud = await loadCloud(cluster.cloud, { clusterName: cluster.name });
    const call = { signal: AbortSignal.timeout(TIMEOUT_MS), share: cluster.limits.floorShare };
    // Whoever may not even see instances was not let in at all: then nothing is known of load balancers either.
    const ofNodes = await listTags(cloud, cluster, call);
    const ofServices = await listOfServices(cloud, call).catch((error: unknown) => {
      if (error instanceof Denied && !cluster.controllers.includes(serviceWatch.name)) return undefined;
      throw error;
    });
    const found = [...(ofServices ?? []), ...ofNodes];
    const because =
      found.length === 0
        ? undefined
        : `${counted(found.length, "resource")} would be left behind in the cloud`;
    return { lines: [...found, ...(ofServices === undefined ? [NOT_LOOKED] : [])], because };
  } catch (error) {
    return { lines: [], because: `nobody can tell what would be left behind: ${messageOf(error)}` };
  } finally {
    await cloud?.close();
  }
}

const NOT_LOOKED = `note: load balancers were not looked for: that is not allowed, and ${serviceWatch.name} is not on for the cluster`;

/** The cloud lets whoever asks see nothing of this. */
class Denied extends Error {}

async function listOfServices(cloud: Cloud, call: CloudCall): Promise<string[]> {
  const state = await stateOf(cloud, LOAD_BALANCERS, { holdings: true }, call);
  if (state === undefined) return [];
  return HoldingsState.parse(state).holdings.map(
    ({ kind, id, service }) => `${kind} ${id}${service === undefined ? "" : ` of Service ${service}`}`,
  );
}

/** Instances whose tags say that they are ours. */
async function listTags(cloud: Cloud, cluster: Cluster, call: CloudCall): Promise<string[]> {
  const model = await loadTaggingModel(cloud.provider);
  if (model === undefined) return [];
  const mark = model.mark(settingsOf(cluster));
  const state = await stateOf(cloud, TAGS, { ids: [], mark }, call);
  const { resources = {} } = (state ?? {}) as Partial<TagsState>;
  return Object.keys(resources).map((id) => `tags of instance ${id}, which ${mark} names`);
}

async function stateOf(cloud: Cloud, capability: string, ask: unknown, call: CloudCall): Promise<unknown> {
  const result = await cloud.capabilities?.[capability]?.observe([ask], call);
  const answer = result?.answers[0];
  if (answer?.kind === "error") {
    const message = `${answer.code}: ${answer.message}`;
    throw answer.code === "Denied" ? new Denied(message) : new Error(message);
  }
  return answer?.state;
}
