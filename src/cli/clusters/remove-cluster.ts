import { ChecksFailedError } from "#cli/clusters/clusters.ts";
import { requireClustersFile } from "#cli/clusters/clusters-file.ts";
import { readAllowedSecrets } from "#cli/clusters/management-cluster.ts";
import { readParameterEntry, removeParameterEntry } from "#cli/clusters/parameter-entries.ts";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { formatCounted } from "#cli/format-list.ts";
import type { Cloud, CloudCall } from "#clouds/cloud.ts";
import { findCloudProvider, loadCloud } from "#clouds/providers.ts";
import { type Cluster, selectSettings } from "#config/cluster.ts";
import { isFaulty, isFile, parseClustersFile } from "#config/clusters-file.ts";
import { removeEntry, replaceClustersFile } from "#config/edit-clusters-file.ts";
import { readClustersText } from "#config/read-clusters-file.ts";
import { parseParameter } from "#config/registry/ssm/parameter-reader.ts";
import { parseSsmPath } from "#config/registry/ssm/ssm-registry.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { DESCRIPTORS } from "#core/descriptors.ts";
import { ClusterName } from "#core/event.ts";
import { TAGS, type TagsState } from "#core/node-tags.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { HoldingsState } from "#core/service/holdings.ts";
import { LOAD_BALANCERS } from "#core/service/model.ts";

/** The registry, and whether to remove the cluster although it leaves resources behind. */
export interface RemoveFlags {
  readonly clustersFile?: string | undefined;
  readonly force: boolean;
  /** Prefixes of the secrets that an entry of a registry in SSM may name. */
  readonly allowedSecrets?: string | undefined;
}

/** The time limit of a cloud for listing what a cluster has. */
const TIMEOUT_MS = 60_000;

/**
 * Lists the cloud resources of the cluster's Services and, if it lists nothing, removes its entry from the
 * clusters file or deletes its parameter. Throws `ChecksFailedError` if resources remain or cannot be listed,
 * because no controller would manage them any more.
 */
export async function removeCluster(
  name: string,
  { clustersFile, force, allowedSecrets }: RemoveFlags,
  write: (line: string) => void,
): Promise<void> {
  const registry = requireClustersFile(clustersFile, process.env);
  const path = parseSsmPath(registry);
  if (path === undefined && !isFile(registry))
    throw new ConfigurationError([{ name: registry, message: BY_HAND }]);
  const entry =
    path === undefined
      ? await readEntryFromFile(registry, name)
      : await readEntryFromParameters(path, name, allowedSecrets);
  const left = entry.cluster === undefined ? FAULTY : await findLeftovers(entry.cluster);
  for (const line of left.lines) write(line);
  if (left.because !== undefined && !force)
    throw new ChecksFailedError(`${left.because}; ${name} stays in ${registry}, unless you add --force`);
  await entry.remove();
  write(`${name} is removed from ${registry}`);
  if (entry.isLast) write(LAST);
}

const BY_HAND =
  "is a management cluster, and nothing is deleted there by this command; delete the cluster's Secret, or take the label serverless-ccm.io/cluster off it";
const LAST =
  "it was the last one: a running relay continues with it until its restart, because a suddenly empty registry may be a mistake";

/** The entry as written in its registry. */
interface RemovableEntry {
  /** Undefined if the entry is faulty. */
  readonly cluster: Cluster | undefined;
  readonly isLast: boolean;
  readonly remove: () => Promise<void>;
}

async function readEntryFromFile(file: string, name: string): Promise<RemovableEntry> {
  const text = await readClustersText(file).catch((error) => {
    throw new ConfigurationError([{ name: file, message: getErrorMessage(error) }]);
  });
  const { clusters, faulty } = parseClustersFile(text, file);
  const cluster = clusters.find((each) => each.name === name);
  const edited = removeEntry(text, file, name);
  if (cluster === undefined || edited.kind !== "edited") {
    const because = edited.kind === "refused" ? edited.because : "has no cluster of this name";
    throw new ConfigurationError([{ name: `${file}: ${name}`, message: because }]);
  }
  const isLast = clusters.length + faulty.length === 1;
  return { cluster, isLast, remove: () => replaceClustersFile(file, edited) };
}

async function readEntryFromParameters(
  path: string,
  name: string,
  allowedSecrets: string | undefined,
): Promise<RemovableEntry> {
  const faults: ConfigurationFault[] = [];
  const allowed = readAllowedSecrets(allowedSecrets, process.env, faults);
  if (!ClusterName.safeParse(name).success)
    faults.push({ name: "NAME", message: "is not a name of a cluster" });
  if (faults.length > 0) throw new ConfigurationError(faults);
  const found = await readParameterEntry(path, name);
  if (found === undefined)
    throw new ConfigurationError([
      { name: `ssm:${path}${name}`, message: "is not a parameter; nothing was deleted" },
    ]);
  const entry = parseParameter(path, found.parameter, allowed);
  return {
    cluster: isFaulty(entry) ? undefined : entry,
    // Whether it is the last cluster is known only from a list of all.
    isLast: false,
    remove: () => removeParameterEntry(path, name, found.parameter.value),
  };
}

interface Leftovers {
  readonly lines: readonly string[];
  /** Why the entry should stay; undefined if nothing is left behind. */
  readonly because: string | undefined;
}

const FAULTY: Leftovers = {
  lines: [],
  because:
    "its entry is faulty, and what would be left behind is unknown; see `serverless-ccm clusters check`",
};

async function findLeftovers(cluster: Cluster): Promise<Leftovers> {
  let cloud: Cloud | undefined;
  try {
    cloud = await loadCloud(cluster.cloud, { clusterName: cluster.name });
    const call = { signal: AbortSignal.timeout(TIMEOUT_MS), share: cluster.limits.floorShare };
    const found: string[] = [];
    const notes: string[] = [];
    for (const { name, resources } of listManagedResources()) {
      const listed = await resources.list(cloud, cluster, call).catch((error: unknown) => {
        const isDispensable = resources.ifDenied !== undefined && !cluster.controllers.includes(name);
        if (error instanceof AccessDeniedError && isDispensable) return undefined;
        throw error;
      });
      found.push(...(listed ?? []));
      if (listed === undefined)
        notes.push(`note: ${resources.ifDenied}, and ${name} is not on for the cluster`);
    }
    const because =
      found.length === 0
        ? undefined
        : `${formatCounted(found.length, "resource")} would be left behind in the cloud`;
    return { lines: [...found, ...notes], because };
  } catch (error) {
    return { lines: [], because: `what would be left behind is unknown: ${getErrorMessage(error)}` };
  } finally {
    await cloud?.close();
  }
}

/** The resources in the cloud that a controller manages for a cluster. */
interface ManagedResources {
  /** Lists them, a line each; rejects if they are unknown. */
  list(cloud: Cloud, cluster: Cluster, call: CloudCall): Promise<string[]>;
  /**
   * What to say if the cloud denies the list and the cluster does not enable the controller. Absent if the
   * list is always needed: who may not list instances knows nothing about other resources either.
   */
  readonly ifDenied?: string;
}

/** By part of a cloud: the resources that its controller manages; a part with such resources is a line here. */
const RESOURCES: Readonly<Record<string, ManagedResources>> = {
  "load-balancers": { list: listHoldings, ifDenied: "load balancers were not listed: that is not allowed" },
  tags: { list: listTags },
};

/** Returns the resources of all controllers that leave some behind, with the controller's name, in listing order. */
function listManagedResources(): { readonly name: string; readonly resources: ManagedResources }[] {
  return DESCRIPTORS.flatMap(({ name, cloudParts = [] }) =>
    cloudParts.flatMap((part) => {
      const resources = RESOURCES[part];
      return resources === undefined ? [] : [{ name, resources }];
    }),
  );
}

/** The cloud denies the credentials access to these resources. */
class AccessDeniedError extends Error {}

/** Lists the load balancers of the cluster's Services, with their parts. */
async function listHoldings(cloud: Cloud, _: Cluster, call: CloudCall): Promise<string[]> {
  const state = await observeState(cloud, LOAD_BALANCERS, { holdings: true }, call);
  if (state === undefined) return [];
  return HoldingsState.parse(state).holdings.map(
    ({ kind, id, service }) => `${kind} ${id}${service === undefined ? "" : ` of Service ${service}`}`,
  );
}

/** Lists the instances whose tags mark them as the cluster's. */
async function listTags(cloud: Cloud, cluster: Cluster, call: CloudCall): Promise<string[]> {
  const model = await findCloudProvider(cloud.provider)?.importNodeTagsModel?.();
  if (model === undefined) return [];
  const mark = model.mark(selectSettings(cluster));
  const state = await observeState(cloud, TAGS, { ids: [], mark }, call);
  const { resources = {} } = (state ?? {}) as Partial<TagsState>;
  return Object.keys(resources).map((id) => `tags of instance ${id}, which ${mark} names`);
}

async function observeState(
  cloud: Cloud,
  capability: string,
  ask: unknown,
  call: CloudCall,
): Promise<unknown> {
  const result = await cloud.capabilities?.[capability]?.observe([ask], call);
  const answer = result?.answers[0];
  if (answer?.kind === "error") {
    const message = `${answer.code}: ${answer.message}`;
    throw answer.code === "Denied" ? new AccessDeniedError(message) : new Error(message);
  }
  return answer?.state;
}
