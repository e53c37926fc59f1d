import { formatWarningLine } from "#cli/clusters/cluster-warnings.ts";
import type { RelayClusterKeeper } from "#cli/relay/keep-cluster.ts";
import type { ClustersFollower } from "#cli/relay/serve.ts";
import type { Cluster, Clusters } from "#config/cluster.ts";
import { type ClustersFile, type FaultyEntry, formatFaults, hasNoEntries } from "#config/clusters-file.ts";
import type { ClusterRegistry } from "#config/registry/registry.ts";
import type { Relay, RelayCluster } from "#relay/relay.ts";

export interface FollowClustersOptions {
  readonly registry: Pick<ClusterRegistry, "name" | "follow">;
  /** The registry's content at the start, and the clusters that the relay follows already. */
  readonly content: ClustersFile;
  readonly followed: readonly Pick<RelayCluster, "cluster">[];
  /** Keeps the cluster of a name, which may be followed already; it starts nothing after the signal fires. */
  readonly keep: (name: string, signal: AbortSignal, already: Cluster | undefined) => RelayClusterKeeper;
  readonly log: (line: Readonly<Record<string, unknown>>) => void;
  /** A dry run for all clusters, whatever their entries say. */
  readonly dryRun?: boolean;
  /**
   * Calls the listener at each SIGHUP, which requests an immediate read of the registry. Returns a function
   * that ends that.
   */
  readonly onHangup?: (listener: () => void) => () => void;
  /** Milliseconds between two reads. */
  readonly intervalMs?: number;
}

/**
 * Keeps a relay's clusters in line with their registry as entries come, go and change.
 *
 * No error removes a cluster: neither a faulty entry or registry, nor a missing cluster while the name of any
 * entry is unreadable.
 */
export function followClusters(options: FollowClustersOptions): ClustersFollower {
  const { registry, keep, log } = options;
  const file = registry.name;
  const stopping = new AbortController();
  const kept = new Map<string, RelayClusterKeeper>();
  /** The latest change of each cluster, which follows all earlier ones. */
  const turns = new Map<string, Promise<void>>();
  let named: ReadonlySet<string> = new Set();
  let known = "";
  let isUnreadable = false;
  let isEmpty = false;

  for (const { cluster } of options.followed)
    kept.set(cluster.name, keep(cluster.name, stopping.signal, cluster));

  function keptOf(name: string): RelayClusterKeeper {
    const keeper = kept.get(name) ?? keep(name, stopping.signal, undefined);
    kept.set(name, keeper);
    return keeper;
  }

  function setDesiredState(name: string, cluster: Cluster | undefined): void {
    const turn = keptOf(name)
      .setDesiredState(cluster)
      .then(() => {
        if (turns.get(name) !== turn) return;
        turns.delete(name);
        if (!named.has(name)) kept.delete(name);
      });
    turns.set(name, turn);
  }

  function take(written: ClustersFile): void {
    isUnreadable = false;
    isEmpty = hasNoEntries(written);
    const content = options.dryRun === true ? toDryRun(written) : written;
    const text = JSON.stringify(content);
    // The file was touched, or written with the same content.
    if (text === known) return;
    known = text;
    const { clusters, faulty } = content;
    log({ level: "info", event: "ClustersRead", file, clusters: clusters.length, faulty: faulty.length });
    const warnings = formatWarningLine(clusters);
    if (warnings !== undefined) log({ ...warnings, file });
    named = new Set([...clusters, ...faulty].flatMap(({ name }) => name ?? []));
    const isSureWhoIsMissing = faulty.every(({ name }) => name !== undefined);
    const missing = [...kept.keys()].filter((name) => !named.has(name));
    for (const cluster of clusters) setDesiredState(cluster.name, cluster);
    for (const [name, entries] of Map.groupBy(faulty, (entry) => entry.name)) refuse(name, entries);
    if (isSureWhoIsMissing) for (const name of missing) setDesiredState(name, undefined);
  }

  function refuse(name: string | undefined, entries: readonly FaultyEntry[]): void {
    const faults = entries.flatMap((entry) => entry.faults);
    const held = entries.find((entry) => entry.held !== undefined)?.held;
    log({ level: "error", event: "ClusterEntryFaulty", cluster: name, file, faults, code: held });
    if (name !== undefined)
      keptOf(name).setEntryFault({ code: held ?? "NotConfigured", message: formatFaults(file, faults) });
  }

  take(options.content);
  const { onHangup } = options;
  const onReread =
    onHangup &&
    ((reread: () => void) =>
      onHangup(() => {
        log({ level: "info", event: "Rereading", signal: "SIGHUP", file });
        // The next content is handled as new, even if it is equal.
        known = "";
        reread();
      }));
  const following = registry.follow({
    signal: stopping.signal,
    onContent: take,
    onError({ code, faults }) {
      isUnreadable = true;
      // The content is handled as new once it is valid again.
      known = "";
      const message = "the known clusters continue as before";
      log({ level: "error", event: "ClustersFileFaulty", file, code, faults, message });
    },
    ...(onReread === undefined ? {} : { onReread }),
    ...(options.intervalMs === undefined ? {} : { intervalMs: options.intervalMs }),
  });

  return {
    isUnreadable: () => isUnreadable,
    hasNoClusters: () => isEmpty && !isUnreadable,
    stop: () => stopping.abort(),
    stopped: following.then(async () => void (await Promise.all(turns.values()))),
  };
}

/** The methods of a relay that change which clusters it follows. */
type FollowingRelay = Pick<Relay, "add" | "remove" | "setConfigurationFault">;

/**
 * The clusters that a relay follows, for functions in the same process: they read the same entries as its
 * events.
 */
export interface FollowedClusters {
  readonly find: Clusters;
  /** Adds a cluster with which the relay starts. */
  add(cluster: Cluster): void;
  /** Wraps a relay so that this object knows its clusters. */
  of(relay: FollowingRelay): FollowingRelay;
}

/** Is notified of new clusters, and of those that are not followed any more. */
interface FollowedClustersListener {
  added(cluster: Cluster): void;
  removed(name: string): Promise<void>;
}

/** Creates an empty set of clusters. */
export function createFollowedClusters(listener: FollowedClustersListener): FollowedClusters {
  const clusters = new Map<string, Cluster>();

  function add(cluster: Cluster): void {
    clusters.set(cluster.name, cluster);
    listener.added(cluster);
  }

  return {
    find: async (name) => clusters.get(name),
    add,
    of: (relay) => ({
      add(one) {
        relay.add(one);
        add(one.cluster);
      },
      async remove(name, signal) {
        await relay.remove(name, signal);
        clusters.delete(name);
        await listener.removed(name);
      },
      setConfigurationFault: (name, fault) => relay.setConfigurationFault(name, fault),
    }),
  };
}

/**
 * Returns the clusters with a dry run for each. Their hashes stay those of the written entries, because
 * functions read the same ones.
 */
export function toDryRun({ clusters, faulty }: ClustersFile): ClustersFile {
  const dry = clusters.map((cluster) => ({ ...cluster, policies: { ...cluster.policies, dryRun: true } }));
  return { clusters: dry, faulty };
}
