import { parentPort } from "node:worker_threads";
import { connectRelay } from "#cli/clusters/connect-identity.ts";
import { openFleetBrake } from "#cli/deletion/fleet-record.ts";
import { logToStandardError } from "#cli/process.ts";
import { connectAsFunction, createFallbackParts } from "#cli/relay/fallback.ts";
import { createFunctionInvoker } from "#cli/relay/function-access.ts";
import { readFunctionNames, readPlatformName } from "#cli/relay/function-names.ts";
import { keepCluster } from "#cli/relay/keep-cluster.ts";
import { RELAY_WORKER, type RelayWorkerData } from "#cli/relay/relay-worker-data.ts";
import { type ProcessTracing, startTracing } from "#cli/relay/start-tracing.ts";
import { createPrivateSweeps } from "#cli/run/sweep-every-minute.ts";
import type { Event } from "#core/event.ts";
import type { Watch } from "#core/watch.ts";
import { systemClock } from "#kube/follow/clock.ts";
import type { Invoker } from "#platforms/invoker.ts";
import { loadPlatform } from "#platforms/platforms.ts";
import { createFallbackInvoker } from "#relay/delivery/fallback-invoker.ts";
import { startWorkerHost, type WorkerParts, type WorkerWork } from "#relay/workers/worker-host.ts";

/**
 * Runs some of a relay's clusters in this worker thread until the main thread ends it; `watches` defaults to
 * those of this build.
 */
export async function runRelayWorker(data: RelayWorkerData, watches?: readonly Watch[]): Promise<void> {
  if (parentPort === null || data.kind !== RELAY_WORKER) throw new Error("this is not a worker of a relay");
  const port = parentPort;
  const tracing = await startTracing(process.env, logToStandardError);
  const { functionFlags: flags, region } = data;
  // The main thread has already validated the flags.
  const functionName = readFunctionNames(flags, []);
  const platform = await loadPlatform(readPlatformName(flags.platform));
  const invoker = createFunctionInvoker({ flags, functionName, platform, region }, process.env);
  startWorkerHost({
    port,
    ...{ start: data.start, identity: data.identity, watches },
    nodeStatusUpdateFrequencySeconds: data.nodeStatusUpdateFrequencySeconds,
    connect: (cluster) => connectRelay(cluster, data.addresses),
    sweeps: createPrivateSweeps,
    work(parts) {
      if (data.hasFallback) return workWithFallback(invoker, tracing, data, parts);
      return {
        invoker: tracing.invoker(invoker),
        keep: (name, options) => keepCluster(name, options, undefined),
        tracer: tracing.tracer,
      };
    },
  });
}

function workWithFallback(
  invoker: Invoker,
  tracing: ProcessTracing,
  { addresses, fleetBrake }: RelayWorkerData,
  { mark, log, readStop, health, metrics }: WorkerParts,
): WorkerWork {
  const connectAs = connectAsFunction(addresses);
  const { followed, inProcess } = createFallbackParts({
    connect: async (cluster, role) => mark(await connectAs(cluster, role), cluster),
    ...{ log, readStop, tracer: tracing.functions, fleetBrake: openFleetBrake(fleetBrake) },
  });
  const onEvent = ({ cluster, controller }: Event): void => metrics.fellBack(cluster, controller);
  return {
    invoker: tracing.invoker(
      createFallbackInvoker(invoker, inProcess, { health, clock: systemClock, onEvent }),
    ),
    keep: (name, options) => keepCluster(name, { ...options, relay: followed.of(options.relay) }, undefined),
    tracer: tracing.tracer,
  };
}
