import { type ClustersFile, ClustersFileError } from "#config/clusters-file.ts";
import type { ClusterHome, ClustersOfHome } from "#config/home/home.ts";
import { entriesOfFound } from "#config/home/kubernetes/entries-of-found.ts";
import type { EntryOfFoundOptions } from "#config/home/kubernetes/entry-of-found.ts";
import { followFound } from "#config/home/kubernetes/follow-found.ts";
import { type Found, isServed, type Source, sourcesIn } from "#config/home/kubernetes/sources.ts";
import { createOwnershipGuard } from "#config/ownership.ts";
import { messageOf } from "#core/message-of.ts";
import type { Transport } from "#kube/client/transport.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { listAll } from "#kube/follow/list.ts";

export interface KubernetesHomeOptions extends Omit<EntryOfFoundOptions, "home"> {
  /** As `--clusters-file` names it. */
  readonly reference: string;
  /** Where clusters are looked for; in all namespaces without it. */
  readonly namespace: string | undefined;
  /** Opens a connection to the management cluster's API server, which is closed after use. */
  readonly connect: () => Promise<Transport>;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** A read that takes longer is given up. */
const READ_TIMEOUT_MS = 60_000;
/** What was read is good for so long, and for so long where it is to be fresh. */
const KEPT_MS = 10_000;
const FRESH_MS = 1_000;

/** A management cluster as a home: its Secrets and control planes of tenants say which clusters there are. */
export function kubernetesHome(options: KubernetesHomeOptions): ClusterHome {
  const { reference, now = Date.now } = options;
  const sources = sourcesIn(options.namespace);
  const { defaults, annotations, readsEntriesInSecrets, allowedSecrets } = options;
  const entries = { home: reference, defaults, annotations, readsEntriesInSecrets, allowedSecrets };

  const { hold } = createOwnershipGuard();

  async function read(signal?: AbortSignal): Promise<ClustersFile> {
    const timeout = AbortSignal.timeout(READ_TIMEOUT_MS);
    const within = signal === undefined ? timeout : AbortSignal.any([timeout, signal]);
    const transport = await options.connect().catch((error: unknown) => {
      throw unreadable(reference, messageOf(error), error);
    });
    try {
      return hold(
        await entriesOfFound(await listFound(options, transport, within), transport, entries, within),
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
    byName: () => clustersByName(reference, read, now),
  };
}

/** Lists whatever objects of a management cluster clusters are found by; rejects with `ClustersFileError`. */
export async function listFound(
  { reference, namespace }: Pick<KubernetesHomeOptions, "reference" | "namespace">,
  transport: Transport,
  signal: AbortSignal,
): Promise<readonly Found[]> {
  const found = sourcesIn(namespace).map((source) => list(source, transport, signal, reference));
  return (await Promise.all(found)).flat();
}

/** The error of a management cluster that does not answer as it should. */
function unreadable(home: string, message: string, cause?: unknown): ClustersFileError {
  return new ClustersFileError("Unreadable", home, [{ path: "", message }], cause);
}

async function list(
  source: Source,
  transport: Transport,
  signal: AbortSignal,
  home: string,
): Promise<Found[]> {
  try {
    if (!(await isServed(source, transport, signal))) return [];
  } catch (error) {
    throw unreadable(home, messageOf(error), error);
  }
  const listed = await listAll(transport, source.path, source.find, signal, { clock: systemClock });
  if (listed.kind === "list") return [...listed.items];
  throw unreadable(home, `${source.path.split("?", 1)[0]} cannot be listed: ${listed.message}`);
}

function clustersByName(home: string, read: () => Promise<ClustersFile>, now: () => number): ClustersOfHome {
  let known: { readonly content: Promise<ClustersFile>; readonly readAt: number } | undefined;
  const content = (isFresh: boolean): Promise<ClustersFile> => {
    const ageMs = known === undefined ? undefined : now() - known.readAt;
    // A negative age: the machine's clock was set back, and how old the list is cannot be told.
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
    if (faults.length > 0) throw new ClustersFileError("Invalid", home, faults);
    return clusters.find((cluster) => cluster.name === name);
  };
  return Object.assign(byName, {
    all,
    named: async (names: readonly string[]) => (await all()).filter(({ name }) => names.includes(name)),
    ahead: all,
  });
}
