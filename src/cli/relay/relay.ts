import { connectExplained } from "#cli/clusters/explain-refusal.ts";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { readFleetBrake, refuseOneThread } from "#cli/deletion/fleet-record.ts";
import { followSwitchOfFlags, stopOfAll } from "#cli/deletion/stop-switch.ts";
import {
  connectAsFunction,
  createFallbackParts,
  type FallbackParts,
  readFallback,
} from "#cli/relay/fallback.ts";
import {
  checkOneFunction,
  type FunctionFlags,
  readFunctionNames,
  readRegion,
} from "#cli/relay/function-names.ts";
import {
  NOTHING_TO_SHARE,
  openClusters,
  prepareClustersInThread,
  type RegistryFlags,
} from "#cli/relay/opened-clusters.ts";
import { runRelayInWorkers } from "#cli/relay/relay-in-workers.ts";
import { RELAY_WORKER, readWorkers } from "#cli/relay/relay-worker-data.ts";
import { log, type ServeOptions, serve } from "#cli/relay/serve.ts";
import { readServingSettings, type ServingFlags } from "#cli/relay/serving-settings.ts";
import { readSharding } from "#cli/relay/sharding.ts";
import {
  logConfigurationWarnings,
  logFlagsWin,
  logNoReload,
  logStockFlags,
  startHealth,
} from "#cli/relay/start-health.ts";
import { type ProcessTracing, startTracing } from "#cli/relay/start-tracing.ts";
import {
  type ClusterFlags,
  readClusterSettings,
  selectClusterSource,
} from "#cli/settings/cluster-settings.ts";
import { readStockFlags } from "#cli/settings/stock-flags.ts";
import type { ClustersFile } from "#config/clusters-file.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import type { Event } from "#core/event.ts";
import { systemClock } from "#kube/follow/clock.ts";
import type { PlatformInvoker } from "#platforms/platform.ts";
import { loadPlatform } from "#platforms/platforms.ts";
import { createFallbackInvoker } from "#relay/delivery/fallback-invoker.ts";

/** The flags of `relay` that `run` does not have. */
export interface RelayFlags extends ClusterFlags, ServingFlags, RegistryFlags, FunctionFlags {
  readonly dryRun: boolean;
  /** The functions' region; the AWS SDK's default without it. */
  readonly region?: string | undefined;
  /** Where events are handled while the platform fails; nowhere without it. */
  readonly fallback?: string | undefined;
}

/**
 * The limit of sockets to the platform. Each cluster's own limits bound what is in flight, and clusters come and
 * go.
 */
const MAX_SOCKETS = 10_000;

/**
 * Watches clusters and invokes the deployed functions until a signal ends it; worker threads start with
 * `program`.
 */
export async function runRelay(flags: RelayFlags, program: string): Promise<void> {
  const faults: ConfigurationFault[] = [];
  const serving = { ...readServingSettings(flags, faults), functionPrefix: flags.functionPrefix };
  const stockFlags = readStockFlags(flags, faults);
  const functionName = readFunctionNames(flags, faults);
  const platform = await loadPlatform();
  const region = await readRegion(platform, flags.region, faults);
  const hasFallback = readFallback(flags.fallback, faults);
  const workersFor = readWorkers(flags.workers, faults);
  const fleetBrake = readFleetBrake(flags.fleetBrake, process.env, faults);
  const source = selectClusterSource(flags.clustersFile, flags.given, process.env, faults);
  const join = await readSharding(flags, process.env, faults);
  const makeInvoker = () => platform.createInvoker({ functionName, maxInFlight: MAX_SOCKETS, region });
  if (source.kind === "flags") {
    if (join !== undefined) faults.push(NOTHING_TO_SHARE);
    const { cluster, relayAccess, functionsAccess } = await readClusterSettings(flags, process.env, faults);
    refuseOneFunction(flags, [cluster]);
    if (source.unread !== undefined) logFlagsWin(source.unread);
    logStockFlags(stockFlags);
    logNoReload();
    logConfigurationWarnings(cluster);
    const tracing = await startTracing(process.env, log);
    const invoker = makeInvoker();
    const clusters = [{ cluster, transport: connectExplained(relayAccess) }];
    const stops = await followSwitchOfFlags(flags, process.env);
    if (!hasFallback)
      return serve({ clusters, invoker: tracing.invoker(invoker), serving, stops, dryRun: invoker.dryRun });
    const parts = createFallbackParts({
      connect: async () => connectExplained(functionsAccess),
      ...{ log, readStop: stopOfAll(stops), tracer: tracing.functions, fleetBrake: fleetBrake?.open() },
    });
    parts.followed.add(cluster);
    return serve({ clusters, ...createInvokerWithFallback(invoker, parts, tracing), serving, stops });
  }
  if (workersFor !== undefined && hasFallback) refuseOneThread(fleetBrake, faults);
  const opened = await openClusters(source.file, flags, join, faults, ({ clusters }) =>
    refuseOneFunction(flags, clusters),
  );
  logStockFlags(stockFlags);
  const invoker = makeInvoker();
  if (workersFor !== undefined) {
    const { functionPrefix, functionArn } = flags;
    return runRelayInWorkers({
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
      ...(await prepareClustersInThread(opened, flags.dryRun)),
      ...{ invoker: tracing.invoker(invoker), tracer: tracing.tracer, serving, dryRun: invoker.dryRun },
    });
  const parts = createFallbackParts({
    connect: connectAsFunction(opened.addresses),
    ...{ log, readStop: stopOfAll(opened.stops), tracer: tracing.functions, fleetBrake: fleetBrake?.open() },
  });
  await serve({
    ...(await prepareClustersInThread(opened, flags.dryRun, parts.followed)),
    ...createInvokerWithFallback(invoker, parts, tracing),
    serving,
  });
}

/** Rejects one function for several controllers. */
function refuseOneFunction(flags: RelayFlags, clusters: ClustersFile["clusters"]): void {
  const controllers = clusters.flatMap((cluster) => cluster.controllers);
  const faults = checkOneFunction(flags, controllers);
  if (faults.length > 0) throw new ConfigurationError(faults);
}

/**
 * Creates an invoker of the deployed functions that uses the same functions in this process while the
 * platform fails.
 */
function createInvokerWithFallback(
  invoker: PlatformInvoker,
  { inProcess }: Pick<FallbackParts, "inProcess">,
  tracing: Pick<ProcessTracing, "invoker" | "tracer">,
): Pick<ServeOptions, "invoker" | "dryRun" | "fallback" | "tracer"> {
  let clusters = (): number => 0;
  let onEvent = (_: Event): void => {};
  const health = startHealth({ invoker, clusters: () => clusters(), log });
  const either = createFallbackInvoker(invoker, inProcess, {
    ...{ health, clock: systemClock },
    onEvent: (event) => onEvent(event),
  });
  return {
    invoker: tracing.invoker({
      invoke: either.invoke,
      async close() {
        await health.close();
        await either.close();
      },
    }),
    ...{ dryRun: invoker.dryRun, tracer: tracing.tracer },
    fallback(relay, metrics) {
      clusters = () => relay.status().length;
      onEvent = ({ cluster, controller }) => metrics.fellBack(cluster, controller);
      return health.failing;
    },
  };
}
