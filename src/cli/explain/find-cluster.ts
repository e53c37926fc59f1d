import { styleText } from "node:util";
import {
  connectCluster,
  connectClusters,
  type ReachableCluster,
  type ReachFlags,
} from "#cli/clusters/reach-cluster.ts";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { formatCounted, formatList } from "#cli/format-list.ts";
import type { Environment } from "#clouds/provider.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { formatCollectionPath, NODES, type ObjectName, SERVICES } from "#core/resources/resource.ts";
import { getErrorMessage, sanitizeText } from "#core/sanitize-text.ts";
import { startAtMost } from "#kube/client/semaphore.ts";
import { listByName } from "#kube/follow/list.ts";

/** How many clusters are searched at a time, and the time limit of each. */
const MAX_AT_ONCE = 16;

const TIMEOUT_MS = 15_000;

const MAX_NAMED = 10;

const MAX_FULL_NAME = 320;

const MAX_WHY = 200;

/**
 * Returns the named cluster, the only one, or the one of the registry that has the object. Rejects if none
 * has it, and with `ConfigurationError` if several have it. If the object was found, `write` reports the
 * clusters that could not be searched.
 */
export async function findCluster(
  explained: ExplainSubject,
  flags: ReachFlags & { readonly json?: boolean | undefined },
  write: (line: string) => void,
  environment: Environment,
): Promise<ReachableCluster> {
  if (explained.cluster !== undefined) return connectCluster(explained.cluster, flags, environment);
  const { clusters, faults } = await connectClusters(undefined, flags, environment);
  const [only] = clusters;
  if (only === undefined) throw new ConfigurationError(faults);
  if (clusters.length === 1) return only;
  const asked = await askAll(clusters, explained);
  const having = asked.filter(({ answer }) => answer === "has");
  const [found] = having;
  const isMeant = (one: ClusterAnswer): boolean => having.length === 1 && one === found;
  await Promise.allSettled(asked.map((one) => (isMeant(one) ? undefined : one.reached.close())));
  const what = formatSubject(explained);
  const gap = formatUnknownClusters(asked, faults);
  if (found === undefined) {
    const lacking = asked.filter(({ answer }) => answer === "lacks").length;
    throw new Error(
      `${formatCounted(lacking, "cluster")} ${lacking === 1 ? "has" : "have"} no ${what}${gap}`,
    );
  }
  if (having.length > 1) {
    const names = having.map(({ reached }) => reached.cluster.name);
    const message = `is missing: ${what} is in ${formatList(names, MAX_NAMED)}; name the cluster that is meant`;
    throw new ConfigurationError([{ name: "CLUSTER", message }]);
  }
  if (flags.json !== true) {
    write(styleText("bold", "cluster"));
    write(`  ${found.reached.cluster.name}, the only one of ${clusters.length} that has ${what}${gap}`);
  }
  return found.reached;
}

interface ClusterAnswer {
  readonly reached: ReachableCluster;
  readonly answer: "has" | "lacks" | "unknown";
  /** Why that is unknown. */
  readonly why?: string;
}

async function askAll(
  clusters: readonly ReachableCluster[],
  explained: ExplainSubject,
): Promise<readonly ClusterAnswer[]> {
  return Promise.all(
    startAtMost(MAX_AT_ONCE, clusters, async (reached): Promise<ClusterAnswer> => {
      try {
        return { reached, answer: (await hasObject(reached, explained)) ? "has" : "lacks" };
      } catch (error) {
        return { reached, answer: "unknown", why: getErrorMessage(error) };
      }
    }),
  );
}

/** Searches with the relay's rights, which allow lists. */
async function hasObject(reached: ReachableCluster, { kind, name }: ExplainSubject): Promise<boolean> {
  const transport = await reached.api("relay");
  const path = formatCollectionPath(kind === "node" ? NODES : SERVICES);
  const at = typeof name === "string" ? { name } : name;
  const page = await listByName(transport, path, at, AbortSignal.timeout(TIMEOUT_MS));
  if (page.kind === "failed") throw new Error(page.message);
  return page.kind === "page" && page.items.length > 0;
}

/** Formats the clusters that could not be searched, as the end of a sentence. */
function formatUnknownClusters(
  asked: readonly ClusterAnswer[],
  faults: readonly ConfigurationFault[],
): string {
  const unknown = [
    ...asked
      .filter(({ answer }) => answer === "unknown")
      .map(({ reached, why = "" }) => `${reached.cluster.name} (${sanitizeText(why, MAX_WHY)})`),
    ...faults.map(({ name }) => `${name} (faulty entry)`),
  ];
  return unknown.length === 0 ? "" : `; not searched: ${formatList(unknown, MAX_NAMED)}`;
}

function formatSubject({ kind, name }: ExplainSubject): string {
  const full = typeof name === "string" ? name : `${name.namespace}/${name.name}`;
  return `${kind === "node" ? "node" : "Service"} "${sanitizeText(full, MAX_FULL_NAME)}"`;
}

/** The object to explain, and its cluster. */
type ExplainSubject =
  | { readonly kind: "node"; readonly name: string; readonly cluster: string | undefined }
  | { readonly kind: "service"; readonly name: Required<ObjectName>; readonly cluster: string | undefined };

/**
 * Parses `NODE [CLUSTER]`, `node NAME [CLUSTER]` or `service NAMESPACE/NAME [CLUSTER]`. A node named `node`
 * or `service` in a named cluster requires the second form.
 */
export function parseSubject([first = "", second, third]: readonly string[]): ExplainSubject {
  if (second === undefined) return { kind: "node", name: first, cluster: undefined };
  if (first === "service") return { kind: "service", name: parseServiceName(second), cluster: third };
  if (first === "node") return { kind: "node", name: second, cluster: third };
  if (third === undefined) return { kind: "node", name: first, cluster: second };
  const message = `is "${sanitizeText(first, MAX_SUBJECT)}": node and service can be explained, or a node by its name alone`;
  throw new ConfigurationError([{ name: "what", message }]);
}

const MAX_SUBJECT = 253;

function parseServiceName(text: string): Required<ObjectName> {
  const [namespace = "", name = "", ...more] = text.split("/");
  if (namespace !== "" && name !== "" && more.length === 0) return { namespace, name };
  const message = `is "${sanitizeText(text, MAX_SUBJECT)}": NAMESPACE/NAME is expected, such as default/web`;
  throw new ConfigurationError([{ name: "service", message }]);
}
