import { clusterSourceOf } from "#cli/cluster-source.ts";
import { ConfigurationError, type ConfigurationFault } from "#cli/configuration-error.ts";
import { connectRelay } from "#cli/connect-relay.ts";
import { dryRunOf } from "#cli/dry-run.ts";
import { warnOfFlagsWithoutEffect } from "#cli/flags-without-effect.ts";
import { followClusters } from "#cli/follow-clusters.ts";
import { type FunctionFlags, faultsOfOneFunction, readFunctionNames } from "#cli/function-names.ts";
import { FUNCTION_TIMEOUT_MS } from "#cli/function-timeout.ts";
import { onHangup } from "#cli/hangup.ts";
import { readLambdaRegion } from "#cli/lambda-region.ts";
import { log, type ServeOptions, serve } from "#cli/serve.ts";
import { type Flags, readClusterSettings, readServingSettings } from "#cli/settings.ts";
import {
  sayThatFlagsWin,
  sayThatItIsDry,
  sayThatNoneIsUsable,
  sayThatNothingIsReadAgain,
} from "#cli/start-notes.ts";
import { type ClustersFile, ClustersFileError, placeOf } from "#config/clusters-file.ts";
import { readClusters } from "#config/read-clusters-file.ts";
import { connect } from "#kube/client/connect.ts";
import { createLambdaInvoker } from "#relay/delivery/invoke-lambda.ts";
import type { RelayCluster } from "#relay/relay.ts";

/** The flags of `relay`, beyond those it shares with `run`. */
export interface RelayFlags extends Flags, FunctionFlags {
  readonly clustersFile?: string | undefined;
  /** Those that stand on the command line, such as `--kubeconfig`; defaults aside. */
  readonly given: ReadonlySet<string>;
  /** Where the functions are; what the AWS SDK finds without it. */
  readonly region?: string | undefined;
}

/** Sockets to Lambda at most. What is in flight is bounded by each cluster's limits, and clusters come and go. */
const MAX_SOCKETS = 10_000;

/** Watches clusters and invokes the deployed functions until a signal ends it. */
export async function relay(flags: RelayFlags): Promise<void> {
  const faults: ConfigurationFault[] = [];
  const serving = readServingSettings(flags, faults);
  const functionName = readFunctionNames(flags, faults);
  const region = await readLambdaRegion(flags.region, faults);
  const clusters = await readRelayClusters(flags, faults);
  const controllers = clusters.clusters.flatMap(({ cluster }) => cluster.controllers);
  const unnamed = faultsOfOneFunction(flags, controllers);
  if (unnamed.length > 0) {
    await Promise.all(clusters.clusters.map(({ transport }) => transport.close()));
    throw new ConfigurationError(unnamed);
  }
  warnOfFlagsWithoutEffect(flags);
  const invoker = createLambdaInvoker({
    functionName,
    functionTimeoutMs: FUNCTION_TIMEOUT_MS,
    maxInFlight: MAX_SOCKETS,
    client: region === undefined ? {} : { region },
  });
  await serve({ ...clusters, invoker, serving, dryRun: invoker.dryRun });
}

/** The clusters to begin with and how they change; rejects with all faults where there is nothing to follow. */
async function readRelayClusters(
  flags: RelayFlags,
  faults: ConfigurationFault[],
): Promise<Pick<ServeOptions, "clusters" | "follow">> {
  const source = clusterSourceOf(flags.clustersFile, flags.given, process.env, faults);
  if (source.kind === "flags") {
    const { cluster, relayAccess } = await readClusterSettings(flags, process.env, faults);
    if (source.unread !== undefined) sayThatFlagsWin(source.unread);
    sayThatNothingIsReadAgain();
    return { clusters: [{ cluster, transport: connect(relayAccess) }] };
  }
  const { file } = source;
  const { dryRun } = flags;
  const written = await readContent(file, faults);
  if (faults.length > 0) throw new ConfigurationError(faults);
  const content = dryRun ? dryRunOf(written) : written;
  const clusters = await connectAll(content);
  if (dryRun) sayThatItIsDry();
  if (clusters.length === 0) sayThatNoneIsUsable(file);
  const follow: ServeOptions["follow"] = (started) =>
    followClusters({
      ...{ relay: started, file, content, followed: clusters, dryRun },
      ...{ connect: connectRelay, log, onHangup },
    });
  return { clusters, follow };
}

async function readContent(file: string, faults: ConfigurationFault[]): Promise<ClustersFile> {
  try {
    return await readClusters(file);
  } catch (error) {
    if (!(error instanceof ClustersFileError)) throw error;
    for (const fault of error.faults) faults.push({ name: placeOf(file, fault), message: fault.message });
    return { clusters: [], faulty: [] };
  }
}

/** All that can be signed in to now; whoever follows the file says of the others why not, and tries again. */
async function connectAll({ clusters }: ClustersFile): Promise<RelayCluster[]> {
  const connected = await Promise.allSettled(
    clusters.map(async (cluster) => ({ cluster, transport: await connectRelay(cluster) })),
  );
  return connected.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
}
