import { connectExplained } from "#cli/clusters/explain-refusal.ts";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { openFleetBrake } from "#cli/deletion/fleet-record.ts";
import { followSwitch, stopOfAll } from "#cli/deletion/stop-switch.ts";
import { connectAsFunction, createFallbackParts, type FallbackParts } from "#cli/relay/fallback.ts";
import { createFunctionInvoker } from "#cli/relay/function-access.ts";
import { checkOneFunction, type FunctionFlags } from "#cli/relay/function-names.ts";
import { type OpenedClusters, openClusters, prepareClustersInThread } from "#cli/relay/opened-clusters.ts";
import type { ClusterFollowSettings } from "#cli/relay/process-settings.ts";
import { runRelayInWorkers } from "#cli/relay/relay-in-workers.ts";
import type { RelaySettings } from "#cli/relay/relay-settings.ts";
import { RELAY_WORKER } from "#cli/relay/relay-worker-data.ts";
import { log, type ServeOptions, serve } from "#cli/relay/serve.ts";
import {
  logConfigurationWarnings,
  logFlagsWin,
  logNoReload,
  logStockFlags,
  startHealth,
} from "#cli/relay/start-health.ts";
import { type ProcessTracing, startTracing } from "#cli/relay/start-tracing.ts";
import type { ClustersFile } from "#config/clusters-file.ts";
import type { Event } from "#core/event.ts";
import { systemClock } from "#kube/follow/clock.ts";
import type { PlatformInvoker } from "#platforms/platform.ts";
import { createFallbackInvoker } from "#relay/delivery/fallback-invoker.ts";

/**
 * Watches clusters and invokes the deployed functions until a signal ends it; worker threads start with
 * `program`.
 */
export async function runRelay(settings: RelaySettings, program: string): Promise<void> {
  const { functions, followed } = settings;
  if (followed.kind === "cluster") return relayCluster(settings, followed);
  const opened = await openClusters(followed, ({ clusters }) => refuseOneFunction(functions.flags, clusters));
  await relayClusters(settings, opened, program);
}

/** Follows the one cluster that flags describe, in this thread. */
async function relayCluster(
  { serving, stockFlags, functions, fleetBrake }: RelaySettings,
  { cluster, relayAccess, functionsAccess, stopSwitch, unreadFile }: ClusterFollowSettings,
): Promise<void> {
  refuseOneFunction(functions.flags, [cluster]);
  if (unreadFile !== undefined) logFlagsWin(unreadFile);
  logStockFlags(stockFlags);
  logNoReload();
  logConfigurationWarnings(cluster);
  const tracing = await startTracing(process.env, log);
  const invoker = createFunctionInvoker(functions, process.env);
  const clusters = [{ cluster, transport: connectExplained(relayAccess) }];
  const stops = await followSwitch(stopSwitch, {});
  if (!functions.hasFallback)
    return serve({ clusters, invoker: tracing.invoker(invoker), serving, stops, dryRun: invoker.dryRun });
  const parts = createFallbackParts({
    connect: async () => connectExplained(functionsAccess),
    ...{ log, readStop: stopOfAll(stops), tracer: tracing.functions },
    fleetBrake: openFleetBrake(fleetBrake),
  });
  parts.followed.add(cluster);
  await serve({ clusters, ...createInvokerWithFallback(invoker, parts, tracing), serving, stops });
}

/** Follows the clusters of a registry; workers start with `program`. */
async function relayClusters(
  { serving, stockFlags, functions, fleetBrake, workersFor }: RelaySettings,
  opened: OpenedClusters,
  program: string,
): Promise<void> {
  logStockFlags(stockFlags);
  const { flags, region, hasFallback } = functions;
  const invoker = createFunctionInvoker(functions, process.env);
  if (workersFor !== undefined)
    return runRelayInWorkers({
      ...{ opened, program, serving, workersFor, platform: invoker, hasFallback },
      workerOf: (common) => ({
        ...{ ...common, kind: RELAY_WORKER },
        ...{ functionFlags: flags, region, hasFallback, fleetBrake },
      }),
    });
  const tracing = await startTracing(process.env, log);
  if (!hasFallback)
    return serve({
      ...(await prepareClustersInThread(opened)),
      ...{ invoker: tracing.invoker(invoker), tracer: tracing.tracer, serving, dryRun: invoker.dryRun },
    });
  const parts = createFallbackParts({
    connect: connectAsFunction(opened.addresses),
    ...{ log, readStop: stopOfAll(opened.stops), tracer: tracing.functions },
    fleetBrake: openFleetBrake(fleetBrake),
  });
  await serve({
    ...(await prepareClustersInThread(opened, parts.followed)),
    ...createInvokerWithFallback(invoker, parts, tracing),
    serving,
  });
}

/** Rejects one function for several controllers. */
function refuseOneFunction(flags: FunctionFlags, clusters: ClustersFile["clusters"]): void {
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
