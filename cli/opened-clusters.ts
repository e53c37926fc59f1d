import { readAllowedNetworks } from "#cli/allowed-networks.ts";
import { faultsOfReading } from "#cli/clusters-file.ts";
import { ConfigurationError, type ConfigurationFault } from "#cli/configuration-error.ts";
import { connectRelay } from "#cli/connect-relay.ts";
import { dryRunOf } from "#cli/dry-run.ts";
import { followClusters } from "#cli/follow-clusters.ts";
import type { FollowedClusters } from "#cli/followed-clusters.ts";
import { onHangup } from "#cli/hangup.ts";
import { keepCluster } from "#cli/keep-cluster.ts";
import { type HomeSettingFlags, openAnyHome } from "#cli/management-cluster.ts";
import { log, type ServeOptions } from "#cli/serve.ts";
import type { JoinShard, ShardFlags } from "#cli/sharding.ts";
import { sayThatItIsDry, sayThatNoneIsUsable } from "#cli/start-notes.ts";
import { type FollowedSwitch, followNamedSwitch, type StopSwitchFlags } from "#cli/stop-switch.ts";
import type { AddressRules } from "#config/address-rules.ts";
import type { Cluster } from "#config/cluster.ts";
import { type ClustersFile, hasNoEntries } from "#config/clusters-file.ts";
import type { ClusterHome } from "#config/home/home.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { RelayCluster } from "#relay/relay.ts";
import { isAllOfOthers, type Shard } from "#relay/sharding/shard.ts";

/** The flags of `relay` and `run` about a home of clusters, as typed. */
export interface HomeFlags extends ShardFlags, StopSwitchFlags, HomeSettingFlags {
  readonly clustersFile?: string | undefined;
  /** Those that stand on the command line, such as `--kubeconfig`; defaults aside. */
  readonly given: ReadonlySet<string>;
  readonly allowedNetworks?: string | undefined;
  readonly workers?: string | undefined;
  readonly fleetBrake?: string | undefined;
  readonly dryRun: boolean;
}

/** A home of clusters, and what it said at the start. */
export interface OpenedClusters {
  readonly home: ClusterHome;
  /** Where the API servers of its clusters may be. */
  readonly addresses: AddressRules;
  readonly content: ClustersFile;
  /** Of the clusters, where other replicas follow the rest: home and content are this one's part. */
  readonly shard: Shard | undefined;
  /** What operators have stopped, known before anything is sent. */
  readonly stops: FollowedSwitch | undefined;
}

/**
 * Opens the home that flags name and reads it; throws `ConfigurationError` with every fault found, `faults` included. Other replicas hear
 * of this one when all is well, `check` included.
 */
export async function openClusters(
  file: string,
  flags: HomeFlags,
  join: JoinShard | undefined,
  faults: ConfigurationFault[],
  check: (content: ClustersFile) => void = () => {},
): Promise<OpenedClusters> {
  const home = await openAnyHome(file, flags, faults);
  const addresses = readAllowedNetworks(flags.allowedNetworks, process.env, home.kind, faults);
  const content = await readContent(home, flags.dryRun, faults);
  if (faults.length > 0) throw new ConfigurationError(faults);
  check(content);
  if (flags.dryRun) sayThatItIsDry();
  const stops = await followNamedSwitch(flags, file, process.env);
  const shard = await join?.(log);
  if (shard === undefined) return { home, addresses, content, shard, stops };
  const sharded = shard.of(home);
  return { home: sharded, addresses, content: sharded.own(content), shard, stops };
}

async function readContent(
  home: ClusterHome,
  dryRun: boolean,
  faults: ConfigurationFault[],
): Promise<ClustersFile> {
  try {
    const written = await home.read();
    return dryRun ? dryRunOf(written) : written;
  } catch (error) {
    faults.push(...faultsOfReading(home.name, error));
    return { clusters: [], faulty: [] };
  }
}

/** The clusters to begin with, all in this thread, and how they change; functions that run beside the relay know them as `beside`. */
export async function clustersInThread(
  { home, addresses, content, shard, stops }: OpenedClusters,
  dryRun: boolean,
  beside?: FollowedClusters,
): Promise<Pick<ServeOptions, "clusters" | "follow" | "shard" | "stops">> {
  const connectOne = (cluster: Cluster): Promise<Transport> => connectRelay(cluster, addresses);
  const clusters = await connectAll(content, connectOne);
  const isNoneUsable = clusters.length === 0 && !hasNoEntries(content) && !isAllOfOthers(content, shard);
  if (isNoneUsable) sayThatNoneIsUsable(home.name);
  for (const { cluster } of clusters) beside?.add(cluster);
  const follow: ServeOptions["follow"] = (started) => {
    const relay = beside?.of(started) ?? started;
    return followClusters({
      ...{ home, content, followed: clusters, dryRun, log, onHangup },
      keep: (name, signal, already) =>
        keepCluster(name, { relay, connect: connectOne, log, signal }, already),
    });
  };
  return { clusters, follow, shard, stops };
}

/** All that can be signed in to now; whoever follows the home says of the others why not, and tries again. */
async function connectAll(
  { clusters }: ClustersFile,
  connectOne: (cluster: Cluster) => Promise<Transport>,
): Promise<RelayCluster[]> {
  const connected = await Promise.allSettled(
    clusters.map(async (cluster) => ({ cluster, transport: await connectOne(cluster) })),
  );
  return connected.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
}

/** Says that replicas have nothing to share where flags describe the one cluster. */
export const NOTHING_TO_SHARE: ConfigurationFault = {
  name: "--shard-by, --shard-replicas",
  message: "share the clusters of a home; there is one cluster by flags, so give --clusters-file",
};
