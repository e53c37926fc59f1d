import { ConfigurationError, type ConfigurationFault } from "#cli/configuration-error.ts";
import { connectRelay, signInFaultOf } from "#cli/connect-relay.ts";
import { warnOfFlagsWithoutEffect } from "#cli/flags-without-effect.ts";
import { followClusters } from "#cli/follow-clusters.ts";
import { type FunctionFlags, faultsOfOneFunction, readFunctionNames } from "#cli/function-names.ts";
import { FUNCTION_TIMEOUT_MS } from "#cli/function-timeout.ts";
import { log, type ServeOptions, serve } from "#cli/serve.ts";
import { type Flags, readClusterSettings, readServingSettings } from "#cli/settings.ts";
import { type ClustersFile, ClustersFileError, placeOf } from "#config/clusters-file.ts";
import { readClusters } from "#config/read-clusters-file.ts";
import { connect } from "#kube/client/connect.ts";
import { createLambdaInvoker } from "#relay/delivery/invoke-lambda.ts";
import type { RelayCluster } from "#relay/relay.ts";

/** The flags of `relay`, beyond those it shares with `run`. */
export interface RelayFlags extends Flags, FunctionFlags {
  readonly clustersFile?: string | undefined;
}

/** Sockets to Lambda at most. What is in flight is bounded by each cluster's limits, and clusters come and go. */
const MAX_SOCKETS = 10_000;

/** Watches clusters and invokes the deployed functions until a signal ends it. */
export async function relay(flags: RelayFlags): Promise<void> {
  const faults: ConfigurationFault[] = [];
  const serving = readServingSettings(flags, faults);
  const functionName = readFunctionNames(flags, faults);
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
  });
  await serve({ ...clusters, invoker, serving });
}

/** The clusters to begin with and how they change; rejects with all faults where none can be followed. */
async function readRelayClusters(
  flags: RelayFlags,
  faults: ConfigurationFault[],
): Promise<Pick<ServeOptions, "clusters" | "follow">> {
  const file =
    flags.clustersFile ?? (flags.kubeconfig === undefined ? process.env["CLUSTERS_FILE"] : undefined);
  if (file === undefined) {
    const { cluster, relayAccess } = await readClusterSettings(flags, process.env, faults);
    return { clusters: [{ cluster, transport: connect(relayAccess) }] };
  }
  const content = await readContent(file, faults);
  const { clusters, unusable } = await connectAll(content);
  if (faults.length === 0 && clusters.length > 0) {
    const follow: ServeOptions["follow"] = (started) =>
      followClusters({ relay: started, file, content, followed: clusters, connect: connectRelay, log });
    return { clusters, follow };
  }
  await Promise.all(clusters.map(({ transport }) => transport.close()));
  const ofEntries = content.faulty.flatMap((entry) => entry.faults);
  faults.push(
    ...ofEntries.map((fault) => ({ name: placeOf(file, fault), message: fault.message })),
    ...unusable,
  );
  throw new ConfigurationError(faults);
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

/** All that can be signed in to now; why not, of the others. */
async function connectAll(
  content: ClustersFile,
): Promise<{ clusters: RelayCluster[]; unusable: ConfigurationFault[] }> {
  const clusters: RelayCluster[] = [];
  const unusable: ConfigurationFault[] = [];
  const connectOne = async (cluster: RelayCluster["cluster"]): Promise<void> => {
    try {
      clusters.push({ cluster, transport: await connectRelay(cluster) });
    } catch (error) {
      unusable.push({ name: `cluster ${cluster.name}`, message: signInFaultOf(error).message });
    }
  };
  await Promise.all(content.clusters.map(connectOne));
  return { clusters, unusable };
}
