import { ConfigurationError, type ConfigurationFault } from "#cli/configuration-error.ts";
import { warnOfFlagsWithoutEffect } from "#cli/flags-without-effect.ts";
import { FUNCTION_TIMEOUT_MS } from "#cli/function-timeout.ts";
import { readKubeconfig } from "#cli/kubeconfig.ts";
import { serve } from "#cli/serve.ts";
import { type Flags, readClusterSettings, readServingSettings } from "#cli/settings.ts";
import type { Cluster } from "#config/cluster.ts";
import { ClustersFileError, readAllClusters } from "#config/clusters-file.ts";
import { SignInError, signIn } from "#config/sign-in.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { createLambdaInvoker } from "#relay/delivery/invoke-lambda.ts";
import type { RelayCluster } from "#relay/relay.ts";

/** The flags of `relay`, beyond those it shares with `run`. */
export interface RelayFlags extends Flags {
  readonly clustersFile?: string | undefined;
  readonly functionPrefix?: string | undefined;
  readonly functionArn?: string | undefined;
}

/** Watches clusters and invokes the deployed functions until a signal ends it. */
export async function relay(flags: RelayFlags): Promise<void> {
  const faults: ConfigurationFault[] = [];
  const serving = readServingSettings(flags, faults);
  const functionName = readFunctionName(flags, faults);
  const clusters = await readRelayClusters(flags, faults);
  warnOfFlagsWithoutEffect(flags);
  const maxInFlight = clusters.reduce((sum, { cluster }) => sum + cluster.limits.invocations, 0);
  const invoker = createLambdaInvoker({
    functionName: () => functionName,
    functionTimeoutMs: FUNCTION_TIMEOUT_MS,
    maxInFlight,
  });
  await serve({ clusters, invoker, serving });
}

function readFunctionName(flags: RelayFlags, faults: ConfigurationFault[]): string {
  const { functionPrefix, functionArn } = flags;
  if ((functionPrefix === undefined) === (functionArn === undefined)) {
    faults.push({ name: "--function-prefix", message: "give it or --function-arn, one of the two" });
  }
  return functionArn ?? `${functionPrefix}node`;
}

async function readRelayClusters(flags: RelayFlags, faults: ConfigurationFault[]): Promise<RelayCluster[]> {
  const file =
    flags.clustersFile ?? (flags.kubeconfig === undefined ? process.env["CLUSTERS_FILE"] : undefined);
  if (file === undefined) {
    const { cluster, relayAccess } = await readClusterSettings(flags, process.env, faults);
    return [{ cluster, transport: connect(relayAccess) }];
  }
  const clusters = await readFile(file, faults);
  const connected = await Promise.all(clusters.map((cluster) => connectRelay(cluster, faults)));
  const relayClusters = connected.filter((each) => each !== undefined);
  if (faults.length === 0) return relayClusters;
  await Promise.all(relayClusters.map(({ transport }) => transport.close()));
  throw new ConfigurationError(faults);
}

async function readFile(file: string, faults: ConfigurationFault[]): Promise<readonly Cluster[]> {
  try {
    return await readAllClusters(file);
  } catch (error) {
    if (!(error instanceof ClustersFileError)) throw error;
    for (const { path, message } of error.faults) faults.push({ name: `${file} ${path}`.trim(), message });
    return [];
  }
}

async function connectRelay(
  cluster: Cluster,
  faults: ConfigurationFault[],
): Promise<RelayCluster | undefined> {
  try {
    return { cluster, transport: await connectAs(cluster) };
  } catch (error) {
    const known = error instanceof SignInError || error instanceof ConfigurationError;
    if (!known) throw error;
    faults.push({ name: `cluster ${cluster.name}`, message: error.message });
    return undefined;
  }
}

async function connectAs(cluster: Cluster): Promise<Transport> {
  const how = cluster.signIn.relay;
  if (how?.kind !== "kubeconfig")
    return connect({ server: cluster.server, ...(await signIn(cluster, "relay")) });
  const access = await readKubeconfig(how.file, how.context);
  // The entry says which API server; the kubeconfig only says how to sign in.
  return connect({ ...access, server: cluster.server });
}
