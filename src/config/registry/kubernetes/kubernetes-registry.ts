import { type ClustersFile, ClustersFileError } from "#config/clusters-file.ts";
import { createOwnershipGuard } from "#config/ownership.ts";
import { buildEntries } from "#config/registry/kubernetes/build-entries.ts";
import type { BuildEntryOptions } from "#config/registry/kubernetes/build-entry.ts";
import { followFound } from "#config/registry/kubernetes/follow-sources.ts";
import { type FoundObject, isServed, listSources, type Source } from "#config/registry/kubernetes/sources.ts";
import type { ClusterRegistry, RegistryClusters } from "#config/registry/registry.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import type { Transport } from "#kube/client/transport.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { listAll } from "#kube/follow/list.ts";

export interface KubernetesRegistryOptions extends Omit<BuildEntryOptions, "home"> {
  /** As in `--clusters-file`. */
  readonly reference: string;
  /** The namespace to search; undefined for all namespaces. */
  readonly namespace: string | undefined;
  /** Opens a connection to the management cluster's API server; the registry closes it after use. */
  readonly connect: () => Promise<Transport>;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** Time limit of a read, in milliseconds. */
const READ_TIMEOUT_MS = 60_000;
/** How long a read may be reused; the second value applies to `fresh` reads. */
const KEPT_MS = 10_000;
const FRESH_MS = 1_000;

/**
 * Creates a registry from a management cluster: its Secrets and tenant control planes describe the clusters.
 */
export function createKubernetesRegistry(options: KubernetesRegistryOptions): ClusterRegistry {
  const { reference, now = Date.now } = options;
  const sources = listSources(options.namespace);
  const { defaults, annotations, readsEntriesInSecrets, allowedSecrets } = options;
  const entries = { home: reference, defaults, annotations, readsEntriesInSecrets, allowedSecrets };

  const { hold } = createOwnershipGuard();

  async function read(signal?: AbortSignal): Promise<ClustersFile> {
    const timeout = AbortSignal.timeout(READ_TIMEOUT_MS);
    const within = signal === undefined ? timeout : AbortSignal.any([timeout, signal]);
    const transport = await options.connect().catch((error: unknown) => {
      throw createUnreadableError(reference, getErrorMessage(error), error);
    });
    try {
      return hold(
        await buildEntries(await listFound(options, transport, within), transport, entries, within),
      );
    } finally {
      await transport.close();
    }
  }

  return {
    kind: "kubernetes",
    name: reference,
    read,
    follow: (following) =>
      followFound({
        ...following,
        onContent: (content) => following.onContent(hold(content)),
        ...{ home: reference, connect: options.connect, sources, entries },
      }),
    byName: () => createClusterReader(reference, read, now),
  };
}

/** Lists the objects of a management cluster that describe clusters; rejects with `ClustersFileError`. */
export async function listFound(
  { reference, namespace }: Pick<KubernetesRegistryOptions, "reference" | "namespace">,
  transport: Transport,
  signal: AbortSignal,
): Promise<readonly FoundObject[]> {
  const found = listSources(namespace).map((source) => list(source, transport, signal, reference));
  return (await Promise.all(found)).flat();
}

function createUnreadableError(registry: string, message: string, cause?: unknown): ClustersFileError {
  return new ClustersFileError("Unreadable", registry, [{ path: "", message }], cause);
}

async function list(
  source: Source,
  transport: Transport,
  signal: AbortSignal,
  registry: string,
): Promise<FoundObject[]> {
  try {
    if (!(await isServed(source, transport, signal))) return [];
  } catch (error) {
    throw createUnreadableError(registry, getErrorMessage(error), error);
  }
  const listed = await listAll(transport, source.path, source.find, signal, { clock: systemClock });
  if (listed.kind === "list") return [...listed.items];
  throw createUnreadableError(
    registry,
    `${source.path.split("?", 1)[0]} cannot be listed: ${listed.message}`,
  );
}

function createClusterReader(
  registry: string,
  read: () => Promise<ClustersFile>,
  now: () => number,
): RegistryClusters {
  let known: { readonly content: Promise<ClustersFile>; readonly readAt: number } | undefined;
  const content = (isFresh: boolean): Promise<ClustersFile> => {
    const ageMs = known === undefined ? undefined : now() - known.readAt;
    // A negative age means that the machine's clock was set back: the age of the list is unknown.
    const isOld = ageMs === undefined || ageMs < 0 || ageMs >= (isFresh ? FRESH_MS : KEPT_MS);
    if (known === undefined || isOld) {
      const reading = read();
      known = { content: reading, readAt: now() };
      reading.catch(() => {
        if (known?.content === reading) known = undefined;
      });
    }
    return known.content;
  };
  const all = async () => (await content(false)).clusters;
  const byName = async (name: string, { fresh = false } = {}) => {
    const { clusters, faulty } = await content(fresh);
    const faults = faulty.filter((entry) => entry.name === name).flatMap((entry) => entry.faults);
    if (faults.length > 0) throw new ClustersFileError("Invalid", registry, faults);
    return clusters.find((cluster) => cluster.name === name);
  };
  return Object.assign(byName, {
    all,
    named: async (names: readonly string[]) => (await all()).filter(({ name }) => names.includes(name)),
    ahead: all,
  });
}
