import { clusterSourceOf } from "#cli/cluster-source.ts";
import { ConfigurationError, type ConfigurationFault } from "#cli/configuration-error.ts";
import { connectExplained } from "#cli/explain-refusal.ts";
import { connectAsFunction, createFallbackParts } from "#cli/fallback.ts";
import { readFleetBrake, refuseOneThread } from "#cli/fleet-record.ts";
import { type FunctionFlags, faultsOfOneFunction, readFunctionNames } from "#cli/function-names.ts";
import { FUNCTION_TIMEOUT_MS } from "#cli/function-timeout.ts";
import { readLambdaRegion } from "#cli/lambda-region.ts";
import { clustersInThread, type HomeFlags, NOTHING_TO_SHARE, openClusters } from "#cli/opened-clusters.ts";
import { readFallback } from "#cli/read-fallback.ts";
import { relayInWorkers } from "#cli/relay-in-workers.ts";
import { RELAY_WORKER } from "#cli/relay-worker-data.ts";
import { log, serve } from "#cli/serve.ts";
import { servedWithFallback } from "#cli/served-with-fallback.ts";
import { type Flags, readClusterSettings, readServingSettings } from "#cli/settings.ts";
import { readSharding } from "#cli/sharding.ts";
import { sayDoubts, sayStockFlags, sayThatFlagsWin, sayThatNothingIsReadAgain } from "#cli/start-notes.ts";
import { startTracing } from "#cli/start-tracing.ts";
import { readStockFlags } from "#cli/stock-flags.ts";
import { followSwitchOfFlags, stopOfAll } from "#cli/stop-switch.ts";
import { readWorkers } from "#cli/workers.ts";
import type { ClustersFile } from "#config/clusters-file.ts";
import { createLambdaInvoker } from "#delivery/invoke-lambda.ts";

/** The flags of `relay`, beyond those it shares with `run`. */
export interface RelayFlags extends Flags, HomeFlags, FunctionFlags {
  readonly dryRun: boolean;
  /** Where the functions are; what the AWS SDK finds without it. */
  readonly region?: string | undefined;
  /** Where events are handled while the functions' platform fails; nowhere without it. */
  readonly fallback?: string | undefined;
}

/** Sockets to Lambda at most. What is in flight is bounded by each cluster's limits, and clusters come and go. */
const MAX_SOCKETS = 10_000;

/** Watches clusters and invokes the deployed functions until a signal ends it; `program` is what worker threads are started with. */
export async function relay(flags: RelayFlags, program: string): Promise<void> {
  const faults: ConfigurationFault[] = [];
  const serving = { ...readServingSettings(flags, faults), functionPrefix: flags.functionPrefix };
  const stockFlags = readStockFlags(flags, faults);
  const functionName = readFunctionNames(flags, faults);
  const region = await readLambdaRegion(flags.region, faults);
  const hasFallback = readFallback(flags.fallback, faults);
  const workersFor = readWorkers(flags.workers, faults);
  const fleetBrake = readFleetBrake(flags.fleetBrake, process.env, faults);
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
    const { cluster, relayAccess, functionsAccess } = await readClusterSettings(flags, process.env, faults);
    refuseOneFunction(flags, [cluster]);
    if (source.unread !== undefined) sayThatFlagsWin(source.unread);
    sayStockFlags(stockFlags);
    sayThatNothingIsReadAgain();
    sayDoubts(cluster);
    const tracing = await startTracing(process.env, log);
    const invoker = makeInvoker();
    const clusters = [{ cluster, transport: connectExplained(relayAccess) }];
    const stops = await followSwitchOfFlags(flags, process.env);
    if (!hasFallback)
      return serve({ clusters, invoker: tracing.invoker(invoker), serving, stops, dryRun: invoker.dryRun });
    const parts = createFallbackParts({
      connect: async () => connectExplained(functionsAccess),
      ...{ log, stopOf: stopOfAll(stops), tracer: tracing.functions, fleetBrake: fleetBrake?.open() },
    });
    parts.followed.add(cluster);
    return serve({ clusters, ...servedWithFallback(invoker, parts, tracing), serving, stops });
  }
  if (workersFor !== undefined && hasFallback) refuseOneThread(fleetBrake, faults);
  const opened = await openClusters(source.file, flags, join, faults, ({ clusters }) =>
    refuseOneFunction(flags, clusters),
  );
  sayStockFlags(stockFlags);
  const invoker = makeInvoker();
  if (workersFor !== undefined) {
    const { functionPrefix, functionArn } = flags;
    return relayInWorkers({
      ...{ opened, program, serving, workersFor, dryRun: flags.dryRun },
      workerOf: (common) => ({
        ...common,
        kind: RELAY_WORKER,
        functionPrefix,
        functionArn,
        region,
        hasFallback,
        fleetBrake: fleetBrake?.reference,
      }),
      ...{ platform: invoker, hasFallback },
    });
  }
  const tracing = await startTracing(process.env, log);
  if (!hasFallback)
    return serve({
      ...(await clustersInThread(opened, flags.dryRun)),
      ...{ invoker: tracing.invoker(invoker), tracer: tracing.tracer, serving, dryRun: invoker.dryRun },
    });
  const parts = createFallbackParts({
    connect: connectAsFunction(opened.addresses),
    ...{ log, stopOf: stopOfAll(opened.stops), tracer: tracing.functions, fleetBrake: fleetBrake?.open() },
  });
  await serve({
    ...(await clustersInThread(opened, flags.dryRun, parts.followed)),
    ...servedWithFallback(invoker, parts, tracing),
    serving,
  });
}

/** One function cannot be that of several controllers. */
function refuseOneFunction(flags: RelayFlags, clusters: ClustersFile["clusters"]): void {
  const controllers = clusters.flatMap((cluster) => cluster.controllers);
  const faults = faultsOfOneFunction(flags, controllers);
  if (faults.length > 0) throw new ConfigurationError(faults);
}
