import { toReadFaults } from "#cli/clusters/clusters-file.ts";
import { connectRelay } from "#cli/clusters/connect-identity.ts";
import { openAnyRegistry, type RegistrySettingFlags } from "#cli/clusters/management-cluster.ts";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { type FollowedSwitch, followNamedSwitch, type StopSwitchFlags } from "#cli/deletion/stop-switch.ts";
import { onHangup } from "#cli/process.ts";
import { type FollowedClusters, followClusters, toDryRun } from "#cli/relay/follow-clusters.ts";
import { keepCluster } from "#cli/relay/keep-cluster.ts";
import { log, type ServeOptions } from "#cli/relay/serve.ts";
import type { JoinShard, ShardFlags } from "#cli/relay/sharding.ts";
import { logDryRun, logNoUsableCluster } from "#cli/relay/start-health.ts";
import type { Environment } from "#clouds/provider.ts";
import { type AddressRules, parseAllowedNetworks, selectAddressRules } from "#config/address-rules.ts";
import type { Cluster } from "#config/cluster.ts";
import { type ClustersFile, hasNoEntries } from "#config/clusters-file.ts";
import type { ClusterRegistry, RegistryKind } from "#config/registry/registry.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { RelayCluster } from "#relay/relay.ts";
import { isAllOfOthers, type Shard } from "#relay/sharding/shard.ts";

/** The flags of `relay` and `run` about a cluster registry, as typed. */
export interface RegistryFlags extends ShardFlags, StopSwitchFlags, RegistrySettingFlags {
  readonly clustersFile?: string | undefined;
  /** The flags on the command line, such as `--kubeconfig`, without defaults. */
  readonly given: ReadonlySet<string>;
  readonly allowedNetworks?: string | undefined;
  readonly workers?: string | undefined;
  readonly fleetBrake?: string | undefined;
  readonly dryRun: boolean;
}

/** A cluster registry, and its content at the start. */
export interface OpenedClusters {
  readonly registry: ClusterRegistry;
  /** The networks in which API servers may be. */
  readonly addresses: AddressRules;
  readonly content: ClustersFile;
  /** This replica's shard if other replicas follow the rest; registry and content are then its part. */
  readonly shard: Shard | undefined;
  /** What operators have stopped, known before anything is sent. */
  readonly stops: FollowedSwitch | undefined;
}

/**
 * Opens and reads the registry that flags name; throws `ConfigurationError` with every fault found, `faults`
 * included. It joins the other replicas only if everything is valid, `check` included.
 */
export async function openClusters(
  file: string,
  flags: RegistryFlags,
  join: JoinShard | undefined,
  faults: ConfigurationFault[],
  check: (content: ClustersFile) => void = () => {},
): Promise<OpenedClusters> {
  const registry = await openAnyRegistry(file, flags, faults);
  const addresses = readAllowedNetworks(flags.allowedNetworks, process.env, registry.kind, faults);
  const content = await readContent(registry, flags.dryRun, faults);
  if (faults.length > 0) throw new ConfigurationError(faults);
  check(content);
  if (flags.dryRun) logDryRun();
  const stops = await followNamedSwitch(flags, file, process.env);
  const shard = await join?.(log);
  if (shard === undefined) return { registry, addresses, content, shard, stops };
  const sharded = shard.of(registry);
  return { registry: sharded, addresses, content: sharded.own(content), shard, stops };
}

async function readContent(
  registry: ClusterRegistry,
  dryRun: boolean,
  faults: ConfigurationFault[],
): Promise<ClustersFile> {
  try {
    const written = await registry.read();
    return dryRun ? toDryRun(written) : written;
  } catch (error) {
    faults.push(...toReadFaults(registry.name, error));
    return { clusters: [], faulty: [] };
  }
}

/**
 * Prepares the initial clusters, all in this thread, and how they change; functions in this process see them
 * as `beside`.
 */
export async function prepareClustersInThread(
  { registry, addresses, content, shard, stops }: OpenedClusters,
  dryRun: boolean,
  beside?: FollowedClusters,
): Promise<Pick<ServeOptions, "clusters" | "follow" | "shard" | "stops">> {
  const connectOne = (cluster: Cluster): Promise<Transport> => connectRelay(cluster, addresses);
  const clusters = await connectAll(content, connectOne);
  const isNoneUsable = clusters.length === 0 && !hasNoEntries(content) && !isAllOfOthers(content, shard);
  if (isNoneUsable) logNoUsableCluster(registry.name);
  for (const { cluster } of clusters) beside?.add(cluster);
  const follow: ServeOptions["follow"] = (started) => {
    const relay = beside?.of(started) ?? started;
    return followClusters({
      ...{ registry, content, followed: clusters, dryRun, log, onHangup },
      keep: (name, signal, already) =>
        keepCluster(name, { relay, connect: connectOne, log, signal }, already),
    });
  };
  return { clusters, follow, shard, stops };
}

/**
 * Connects to all clusters with a usable sign-in; the follower of the registry reports the others and
 * retries.
 */
async function connectAll(
  { clusters }: ClustersFile,
  connectOne: (cluster: Cluster) => Promise<Transport>,
): Promise<RelayCluster[]> {
  const connected = await Promise.allSettled(
    clusters.map(async (cluster) => ({ cluster, transport: await connectOne(cluster) })),
  );
  return connected.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
}

/** The fault that replicas have nothing to share if flags describe one cluster. */
export const NOTHING_TO_SHARE: ConfigurationFault = {
  name: "--shard-by, --shard-replicas",
  message: "share the clusters of a home; there is one cluster by flags, so give --clusters-file",
};

/**
 * Reads the networks in which API servers of a registry may be: from the flag, or from ALLOWED_NETWORKS in
 * the environment.
 */
export function readAllowedNetworks(
  flag: string | undefined,
  environment: Environment,
  registry: RegistryKind,
  faults: ConfigurationFault[],
): AddressRules {
  const [name, text] =
    flag === undefined
      ? ["ALLOWED_NETWORKS", environment["ALLOWED_NETWORKS"] || undefined]
      : ["--allowed-networks", flag];
  if (text === undefined) return selectAddressRules(registry, undefined);
  const parsed = parseAllowedNetworks(text);
  if (parsed.kind === "networks") return selectAddressRules(registry, parsed.networks);
  faults.push(...parsed.faults.map((message) => ({ name, message })));
  return selectAddressRules(registry, []);
}
