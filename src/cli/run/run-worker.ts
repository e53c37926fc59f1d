import { parentPort } from "node:worker_threads";
import { connectFunction, connectRelay } from "#cli/clusters/connect-identity.ts";
import { openFleetBrake } from "#cli/deletion/fleet-record.ts";
import { logToStandardError } from "#cli/process.ts";
import { keepCluster } from "#cli/relay/keep-cluster.ts";
import { RUN_WORKER, type RunWorkerData } from "#cli/relay/relay-worker-data.ts";
import { startTracing } from "#cli/relay/start-tracing.ts";
import { createRunParts } from "#cli/run/run-parts.ts";
import { createPrivateSweeps } from "#cli/run/sweep-every-minute.ts";
import { startWorkerHost } from "#relay/workers/worker-host.ts";

/**
 * Runs some of the clusters of `run`, with their functions and their sweep, in this worker thread until the
 * main thread ends it.
 */
export async function runRunWorker(data: RunWorkerData): Promise<void> {
  if (parentPort === null || data.kind !== RUN_WORKER) throw new Error("this is not a worker of run");
  const port = parentPort;
  const tracing = await startTracing(process.env, logToStandardError, "serverless-ccm");
  const fleetBrake = openFleetBrake(data.fleetBrake);
  startWorkerHost({
    ...{ port, start: data.start, identity: data.identity },
    nodeStatusUpdateFrequencySeconds: data.nodeStatusUpdateFrequencySeconds,
    connect: (cluster) => connectRelay(cluster, data.addresses),
    sweeps: createPrivateSweeps,
    work({ mark, log, readStop }) {
      const { followed, functions, sweeping } = createRunParts({
        connect: async (cluster, role) => mark(await connectFunction(cluster, role, data.addresses), cluster),
        ...{ log, readStop, tracing, fleetBrake },
      });
      return {
        invoker: functions,
        keep: (name, options) =>
          keepCluster(name, { ...options, relay: followed.of(options.relay) }, undefined),
        companion: sweeping,
        overdue: sweeping.overdue,
        tracer: tracing.tracer,
      };
    },
  });
}
