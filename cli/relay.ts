import { readAllowedNetworks } from "#cli/allowed-networks.ts";
import { clusterSourceOf } from "#cli/cluster-source.ts";
import { faultsOfReading } from "#cli/clusters-file.ts";
import { ConfigurationError, type ConfigurationFault } from "#cli/configuration-error.ts";
import { connectRelay } from "#cli/connect-relay.ts";
import { dryRunOf } from "#cli/dry-run.ts";
import { followClusters } from "#cli/follow-clusters.ts";
import { type FunctionFlags, faultsOfOneFunction, readFunctionNames } from "#cli/function-names.ts";
import { FUNCTION_TIMEOUT_MS } from "#cli/function-timeout.ts";
import { onHangup } from "#cli/hangup.ts";
import { keepCluster } from "#cli/keep-cluster.ts";
import { readLambdaRegion } from "#cli/lambda-region.ts";
import { openAnyHome } from "#cli/management-cluster.ts";
import { relayInWorkers } from "#cli/relay-in-workers.ts";
import { log, type ServeOptions, serve } from "#cli/serve.ts";
import { type Flags, readClusterSettings, readServingSettings } from "#cli/settings.ts";
import { readSharding, type ShardFlags } from "#cli/sharding.ts";
import {
  sayDoubts,
  sayThatFlagsWin,
  sayThatItIsDry,
  sayThatNoneIsUsable,
  sayThatNothingIsReadAgain,
} from "#cli/start-notes.ts";
import { startTracing } from "#cli/start-tracing.ts";
import { readWorkers } from "#cli/workers.ts";
import type { AddressRules } from "#config/address-rules.ts";
import type { Cluster } from "#config/cluster.ts";
import type { ClustersFile } from "#config/clusters-file.ts";
import type { ClusterHome } from "#config/home/home.ts";
import { createLambdaInvoker } from "#delivery/invoke-lambda.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { RelayCluster } from "#relay/relay.ts";
import { isAllOfOthers, type Shard } from "#relay/sharding/shard.ts";

/** The flags of `relay`, beyond those it shares with `run`. */
export interface RelayFlags extends Flags, FunctionFlags, ShardFlags {
  readonly clustersFile?: string | undefined;
  /** Those that stand on the command line, such as `--kubeconfig`; defaults aside. */
  readonly given: ReadonlySet<string>;
  /** Where the functions are; what the AWS SDK finds without it. */
  readonly region?: string | undefined;
  readonly workers?: string | undefined;
  readonly allowedNetworks?: string | undefined;
  /** File of what entries say of clusters that are found in a management cluster. */
  readonly clusterDefaults?: string | undefined;
}

/** Sockets to Lambda at most. What is in flight is bounded by each cluster's limits, and clusters come and go. */
const MAX_SOCKETS = 10_000;

/** Watches clusters and invokes the deployed functions until a signal ends it; `program` is what worker threads are started with. */
export async function relay(flags: RelayFlags, program: string): Promise<void> {
  const faults: ConfigurationFault[] = [];
  const serving = readServingSettings(flags, faults);
  const functionName = readFunctionNames(flags, faults);
  const region = await readLambdaRegion(flags.region, faults);
  const workersFor = readWorkers(flags.workers, faults);
  const source = clusterSourceOf(flags.clustersFile, flags.given, process.env, faults);
  const join = await readSharding(flags, process.env, faults);
  const makeInvoker = () =>
    createLambdaInvoker({
      functionName,
      functionTimeoutMs: FUNCTION_TIMEOUT_MS,
      maxInFlight: MAX_SOCKETS,
      client: region === undefined ? {} : { region },
    });
  if (source.kind === "flags") {
    if (join !== undefined) faults.push(NOTHING_TO_SHARE);
    const { cluster, relayAccess } = await readClusterSettings(flags, process.env, faults);
    refuseOneFunction(flags, [cluster]);
    if (source.unread !== undefined) sayThatFlagsWin(source.unread);
    sayThatNothingIsReadAgain();
    sayDoubts(cluster);
    const tracing = await startTracing(process.env, log);
    const invoker = tracing.invoker(makeInvoker());
    const clusters = [{ cluster, transport: connect(relayAccess) }];
    return serve({ clusters, invoker, serving, dryRun: invoker.dryRun });
  }
  const home = await openAnyHome(source.file, flags.clusterDefaults, faults);
  const addresses = readAllowedNetworks(flags.allowedNetworks, process.env, home.kind, faults);
  const content = await readContent(home, flags.dryRun, faults);
  if (faults.length > 0) throw new ConfigurationError(faults);
  refuseOneFunction(flags, content.clusters);
  if (flags.dryRun) sayThatItIsDry();
  const shard = await join?.(log);
  const sharded = shard?.of(home);
  const own: Own = { home: sharded ?? home, content: sharded?.own(content) ?? content, shard };
  const invoker = makeInvoker();
  if (workersFor !== undefined) {
    return relayInWorkers({ flags, program, ...own, addresses, serving, workersFor, region, invoker });
  }
  const tracing = await startTracing(process.env, log);
  await serve({
    ...(await clustersOfHome(flags, own, addresses)),
    ...{ invoker: tracing.invoker(invoker), serving, shard, dryRun: invoker.dryRun },
  });
}

const NOTHING_TO_SHARE: ConfigurationFault = {
  name: "--shard-by, --shard-replicas",
  message: "share the clusters of a home; there is one cluster by flags, so give --clusters-file",
};

/** What of a home is this process's. */
interface Own {
  readonly home: ClusterHome;
  readonly content: ClustersFile;
  readonly shard: Shard | undefined;
}

/** The clusters to begin with, all in this thread, and how they change. */
async function clustersOfHome(
  { dryRun }: RelayFlags,
  { home, content, shard }: Own,
  addresses: AddressRules,
): Promise<Pick<ServeOptions, "clusters" | "follow">> {
  const connectOne = (cluster: Cluster): Promise<Transport> => connectRelay(cluster, addresses);
  const clusters = await connectAll(content, connectOne);
  if (clusters.length === 0 && !isAllOfOthers(content, shard)) sayThatNoneIsUsable(home.name);
  const follow: ServeOptions["follow"] = (started) =>
    followClusters({
      ...{ home, content, followed: clusters, dryRun, log, onHangup },
      keep: (name, signal, already) =>
        keepCluster(name, { relay: started, connect: connectOne, log, signal }, already),
    });
  return { clusters, follow };
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

/** One function cannot be that of several controllers. */
function refuseOneFunction(flags: RelayFlags, clusters: ClustersFile["clusters"]): void {
  const controllers = clusters.flatMap((cluster) => cluster.controllers);
  const faults = faultsOfOneFunction(flags, controllers);
  if (faults.length > 0) throw new ConfigurationError(faults);
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
