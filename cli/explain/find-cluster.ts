import { styleText } from "node:util";
import { ConfigurationError, type ConfigurationFault } from "#cli/configuration-error.ts";
import { counted } from "#cli/counted.ts";
import type { Explained } from "#cli/explain/subject.ts";
import { type ReachableCluster, type ReachFlags, reachCluster, reachClusters } from "#cli/reach-cluster.ts";
import { someOf } from "#cli/some-of.ts";
import type { Environment } from "#clouds/kind.ts";
import { messageOf } from "#core/message-of.ts";
import { collectionPath, NODES, SERVICES } from "#core/resources/resource.ts";
import { shown } from "#core/shown-text.ts";
import { startAtMost } from "#kube/client/slots.ts";
import { listByName } from "#kube/follow/list.ts";

/** Clusters that are asked side by side, and how long each may take. */
const MAX_AT_ONCE = 16;
const TIMEOUT_MS = 15_000;
const MAX_NAMED = 10;
const MAX_NAME = 320;
const MAX_WHY = 200;

/**
 * Reaches the cluster that is named, the only one that there is, or the one of the home that has the object. Rejects where none of them
 * has it, and with `ConfigurationError` where several have. What could not be asked is told by `write` where the object was found.
 */
export async function reachClusterOf(
  explained: Explained,
  flags: ReachFlags & { readonly json?: boolean | undefined },
  write: (line: string) => void,
  environment: Environment,
): Promise<ReachableCluster> {
  if (explained.cluster !== undefined) return reachCluster(explained.cluster, flags, environment);
  const { clusters, faults } = await reachClusters(undefined, flags, environment);
  const [only] = clusters;
  if (only === undefined) throw new ConfigurationError(faults);
  if (clusters.length === 1) return only;
  const asked = await askAll(clusters, explained);
  const having = asked.filter(({ answer }) => answer === "has");
  const [found] = having;
  const isMeant = (one: Asked): boolean => having.length === 1 && one === found;
  await Promise.allSettled(asked.map((one) => (isMeant(one) ? undefined : one.reached.close())));
  const what = wordsOf(explained);
  const gap = gapOf(asked, faults);
  if (found === undefined) {
    const lacking = asked.filter(({ answer }) => answer === "lacks").length;
    throw new Error(`${counted(lacking, "cluster")} ${lacking === 1 ? "has" : "have"} no ${what}${gap}`);
  }
  if (having.length > 1) {
    const names = having.map(({ reached }) => reached.cluster.name);
    const message = `is missing: ${what} is in ${someOf(names, MAX_NAMED)}; name the cluster that is meant`;
    throw new ConfigurationError([{ name: "CLUSTER", message }]);
  }
  if (flags.json !== true) {
    write(styleText("bold", "cluster"));
    write(`  ${found.reached.cluster.name}, the only one of ${clusters.length} that has ${what}${gap}`);
  }
  return found.reached;
}

interface Asked {
  readonly reached: ReachableCluster;
  readonly answer: "has" | "lacks" | "unknown";
  /** Why that is not known. */
  readonly why?: string;
}

async function askAll(
  clusters: readonly ReachableCluster[],
  explained: Explained,
): Promise<readonly Asked[]> {
  return Promise.all(
    startAtMost(MAX_AT_ONCE, clusters, async (reached): Promise<Asked> => {
      try {
        return { reached, answer: (await hasObject(reached, explained)) ? "has" : "lacks" };
      } catch (error) {
        return { reached, answer: "unknown", why: messageOf(error) };
      }
    }),
  );
}

/** As the relay may, which lists. */
async function hasObject(reached: ReachableCluster, { kind, name }: Explained): Promise<boolean> {
  const transport = await reached.api("relay");
  const path = collectionPath(kind === "node" ? NODES : SERVICES);
  const at = typeof name === "string" ? { name } : name;
  const page = await listByName(transport, path, at, AbortSignal.timeout(TIMEOUT_MS));
  if (page.kind === "failed") throw new Error(page.message);
  return page.kind === "page" && page.items.length > 0;
}

/** Clusters of which nobody can tell, as the end of a sentence. */
function gapOf(asked: readonly Asked[], faults: readonly ConfigurationFault[]): string {
  const unknown = [
    ...asked
      .filter(({ answer }) => answer === "unknown")
      .map(({ reached, why = "" }) => `${reached.cluster.name} (${shown(why, MAX_WHY)})`),
    ...faults.map(({ name }) => `${name} (faulty entry)`),
  ];
  return unknown.length === 0 ? "" : `; nobody can tell of ${someOf(unknown, MAX_NAMED)}`;
}

function wordsOf({ kind, name }: Explained): string {
  const full = typeof name === "string" ? name : `${name.namespace}/${name.name}`;
  return `${kind === "node" ? "node" : "Service"} "${shown(full, MAX_NAME)}"`;
}
