import { FoundFaults } from "#cli/clusters.ts";
import { neededClustersFile } from "#cli/clusters-file.ts";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { counted } from "#cli/counted.ts";
import type { Cloud, CloudCall } from "#clouds/cloud.ts";
import { loadCloud } from "#clouds/kinds.ts";
import { type Cluster, settingsOf } from "#config/cluster.ts";
import { isFile, parseClustersFile } from "#config/clusters-file.ts";
import { replaceClustersFile, withoutCluster } from "#config/edit-clusters-file.ts";
import { readClustersText } from "#config/read-clusters-file.ts";
import { messageOf } from "#core/message-of.ts";
import { HoldingsState } from "#core/service/holdings.ts";
import { LOAD_BALANCERS } from "#core/service/model.ts";
import { TAGS, type TagsState } from "#core/tagging/model.ts";
import { loadTaggingModel } from "#functions/parts/tagging-controller.ts";

/** Which file, and whether the cluster goes whatever it leaves behind. */
export interface RemoveFlags {
  readonly clustersFile?: string | undefined;
  readonly force: boolean;
}

/** As long as a cloud may take to list what a cluster has. */
const TIMEOUT_MS = 60_000;

/**
 * Lists what the cluster's Services have in the cloud, and takes its entry out of the clusters file where that is nothing. Throws
 * `FoundFaults` where there is something, or where nobody can tell: from then on nobody would look after it.
 */
export async function removeCluster(
  name: string,
  { clustersFile, force }: RemoveFlags,
  write: (line: string) => void,
): Promise<void> {
  const file = neededClustersFile(clustersFile, process.env);
  if (!isFile(file))
    throw new ConfigurationError([
      {
        name: file,
        message: "is no file, and nothing is taken out of it here; delete the cluster's parameter or Secret",
      },
    ]);
  const text = await readClustersText(file).catch((error) => {
    throw new ConfigurationError([{ name: file, message: messageOf(error) }]);
  });
  const cluster = parseClustersFile(text, file).clusters.find((each) => each.name === name);
  const edited = withoutCluster(text, file, name);
  if (cluster === undefined || edited.kind !== "edited") {
    const because = edited.kind === "refused" ? edited.because : "has no cluster of this name";
    throw new ConfigurationError([{ name: `${file}: ${name}`, message: because }]);
  }
  const left = await leftBehind(cluster);
  for (const line of left.lines) write(line);
  if (left.because !== undefined && !force)
    throw new FoundFaults(`${left.because}; ${name} stays in ${file}, unless you add --force`);
  await replaceClustersFile(file, edited);
  write(`${name} is taken out of ${file}`);
}

interface Left {
  readonly lines: readonly string[];
  /** Why the entry had better stay; undefined where nothing is left behind. */
  readonly because: string | undefined;
}

async function leftBehind(cluster: Cluster): Promise<Left> {
  let cloud: Cloud | undefined;
  try {
    cloud = await loadCloud(cluster.cloud, { clusterName: cluster.name });
    const call = { signal: AbortSignal.timeout(TIMEOUT_MS), share: cluster.limits.floorShare };
    const found = [...(await ofServices(cloud, call)), ...(await ofNodes(cloud, cluster, call))];
    const because =
      found.length === 0
        ? undefined
        : `${counted(found.length, "resource")} would be left behind in the cloud`;
    return { lines: found, because };
  } catch (error) {
    return { lines: [], because: `nobody can tell what would be left behind: ${messageOf(error)}` };
  } finally {
    await cloud?.close();
  }
}

async function ofServices(cloud: Cloud, call: CloudCall): Promise<string[]> {
  const state = await stateOf(cloud, LOAD_BALANCERS, { holdings: true }, call);
  if (state === undefined) return [];
  return HoldingsState.parse(state).holdings.map(
    ({ kind, id, service }) => `${kind} ${id}${service === undefined ? "" : ` of Service ${service}`}`,
  );
}

/** Instances whose tags say that they are ours. */
async function ofNodes(cloud: Cloud, cluster: Cluster, call: CloudCall): Promise<string[]> {
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
  if (answer?.kind === "error") throw new Error(`${answer.code}: ${answer.message}`);
  return answer?.state;
}
