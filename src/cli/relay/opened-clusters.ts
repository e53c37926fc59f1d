import { toReadFaults } from "#cli/clusters/clusters-file.ts";
import { connectRelay } from "#cli/clusters/connect-identity.ts";
import { openRegistryWith } from "#cli/clusters/management-cluster.ts";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { type FollowedSwitch, followSwitch } from "#cli/deletion/stop-switch.ts";
import { onHangup } from "#cli/process.ts";
import { type FollowedClusters, followClusters, toDryRun } from "#cli/relay/follow-clusters.ts";
import { keepCluster } from "#cli/relay/keep-cluster.ts";
import type { RegistryFollowSettings } from "#cli/relay/process-settings.ts";
import { log, type ServeOptions } from "#cli/relay/serve.ts";
import { logDryRun, logNoUsableCluster } from "#cli/relay/start-health.ts";
import { type AddressRules, selectAddressRules } from "#config/address-rules.ts";
import type { Cluster } from "#config/cluster.ts";
import { type ClustersFile, hasNoEntries } from "#config/clusters-file.ts";
import type { ClusterRegistry } from "#config/registry/registry.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { RelayCluster } from "#relay/relay.ts";
import { isAllOfOthers, type Shard } from "#relay/sharding/shard.ts";

/** A cluster registry, and its content at the start. */
export interface OpenedClusters {
  readonly registry: ClusterRegistry;
  /** The networks in which API servers may be. */
  readonly addresses: AddressRules;
  readonly content: ClustersFile;
  /** A dry run for all clusters, whatever their entries say. */
  readonly dryRun: boolean;
  /** This replica's shard if other replicas follow the rest; registry and content are then its part. */
  readonly shard: Shard | undefined;
  /** What operators have stopped, known before anything is sent. */
  readonly stops: FollowedSwitch | undefined;
}

/**
 * Opens and reads a registry; throws `ConfigurationError` with every fault, those of flags included. It joins
 * the other replicas only if everything is valid, `check` included.
 */
export async function openClusters(
  settings: RegistryFollowSettings,
  check: (content: ClustersFile) => void = () => {},
): Promise<OpenedClusters> {
  const { dryRun } = settings;
  const registry = openRegistryWith(settings.reference, settings.registry);
  const addresses = selectAddressRules(registry.kind, settings.networks);
  const faults = [...settings.faults];
  const content = await readContent(registry, dryRun, faults);
  if (faults.length > 0) throw new ConfigurationError(faults);
  check(content);
  if (dryRun) logDryRun();
  const stops = await followSwitch(settings.stopSwitch, process.env);
  const shard = await settings.join?.(log);
  if (shard === undefined) return { registry, addresses, content, dryRun, shard, stops };
  const sharded = shard.of(registry);
  return { registry: sharded, addresses, content: sharded.own(content), dryRun, shard, stops };
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
  { registry, addresses, content, dryRun, shard, stops }: OpenedClusters,
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
