import { doubtLine } from "#cli/cluster-doubts.ts";
import { dryRunOf } from "#cli/dry-run.ts";
import type { KeptCluster } from "#cli/keep-cluster.ts";
import type { ClustersFollower } from "#cli/serve.ts";
import type { Cluster } from "#config/cluster.ts";
import { type ClustersFile, type FaultyEntry, hasNoEntries, sentenceOf } from "#config/clusters-file.ts";
import type { ClusterHome } from "#config/home/home.ts";
import type { RelayCluster } from "#relay/relay.ts";

export interface FollowClustersOptions {
  readonly home: Pick<ClusterHome, "name" | "follow">;
  /** What the home said at the start, and those of its clusters that the relay follows by now. */
  readonly content: ClustersFile;
  readonly followed: readonly Pick<RelayCluster, "cluster">[];
  /** Keeps the cluster of a name, which may be followed already; it begins nothing any more once the signal fires. */
  readonly keep: (name: string, signal: AbortSignal, already: Cluster | undefined) => KeptCluster;
  readonly log: (line: Readonly<Record<string, unknown>>) => void;
  /** A dry run for all clusters, whatever their entries say. */
  readonly dryRun?: boolean;
  /** Calls the listener at each SIGHUP, which asks for the home to be read again at once; answers with how to end that. */
  readonly onHangup?: (listener: () => void) => () => void;
  /** Milliseconds between two looks at it. */
  readonly intervalMs?: number;
}

/**
 * Keeps a relay's clusters in line with their home: they come, go and change as their entries do. No error removes a cluster:
 * neither a faulty entry or home, nor a cluster that is missing while an entry's name cannot be told.
 */
export function followClusters(options: FollowClustersOptions): ClustersFollower {
  const { home, keep, log } = options;
  const file = home.name;
  const stopping = new AbortController();
  const kept = new Map<string, KeptCluster>();
  /** The latest of each cluster; it comes after all earlier ones. */
  const turns = new Map<string, Promise<void>>();
  let named: ReadonlySet<string> = new Set();
  let known = "";
  let isUnreadable = false;
  let isEmpty = false;

  for (const { cluster } of options.followed)
    kept.set(cluster.name, keep(cluster.name, stopping.signal, cluster));

  function keptOf(name: string): KeptCluster {
    const one = kept.get(name) ?? keep(name, stopping.signal, undefined);
    kept.set(name, one);
    return one;
  }

  function want(name: string, cluster: Cluster | undefined): void {
    const turn = keptOf(name)
      .want(cluster)
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
    const content = options.dryRun === true ? dryRunOf(written) : written;
    const text = JSON.stringify(content);
    // Touched, or written with the same words.
    if (text === known) return;
    known = text;
    const { clusters, faulty } = content;
    log({ level: "info", event: "ClustersRead", file, clusters: clusters.length, faulty: faulty.length });
    const doubts = doubtLine(clusters);
    if (doubts !== undefined) log({ ...doubts, file });
    named = new Set([...clusters, ...faulty].flatMap(({ name }) => name ?? []));
    const isSureWhoIsMissing = faulty.every(({ name }) => name !== undefined);
    const missing = [...kept.keys()].filter((name) => !named.has(name));
    for (const cluster of clusters) want(cluster.name, cluster);
    for (const [name, entries] of Map.groupBy(faulty, (entry) => entry.name)) refuse(name, entries);
    if (isSureWhoIsMissing) for (const name of missing) want(name, undefined);
  }

  function refuse(name: string | undefined, entries: readonly FaultyEntry[]): void {
    const faults = entries.flatMap((entry) => entry.faults);
    const held = entries.find((entry) => entry.held !== undefined)?.held;
    log({ level: "error", event: "ClusterEntryFaulty", cluster: name, file, faults, code: held });
    if (name !== undefined)
      keptOf(name).setEntryFault({ code: held ?? "NotConfigured", message: sentenceOf(file, faults) });
  }

  take(options.content);
  const { onHangup } = options;
  const onReread =
    onHangup &&
    ((reread: () => void) =>
      onHangup(() => {
        log({ level: "info", event: "Rereading", signal: "SIGHUP", file });
        // What the file says then is news, even where it says the same.
        known = "";
        reread();
      }));
  const following = home.follow({
    signal: stopping.signal,
    onContent: take,
    onError({ code, faults }) {
      isUnreadable = true;
      // What it says when it is whole again is news.
      known = "";
      const message = "the clusters that are known go on as before";
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
