import { connectFunction } from "#cli/connect-identity.ts";
import type { NamedFleetBrake } from "#cli/fleet-record.ts";
import { type OpenedClusters, prepareClustersInThread } from "#cli/opened-clusters.ts";
import { runRelayInWorkers } from "#cli/relay-in-workers.ts";
import { RUN_WORKER } from "#cli/relay-worker-data.ts";
import { createRunParts } from "#cli/run-parts.ts";
import { log, serve } from "#cli/serve.ts";
import type { ServingSettings } from "#cli/settings.ts";
import { startTracing } from "#cli/start-tracing.ts";
import { stopOfAll } from "#cli/stop-switch.ts";
import type { WorkersFor } from "#cli/workers.ts";

export interface RunClustersOptions {
  readonly opened: OpenedClusters;
  /** URL of the module with which a worker starts. */
  readonly program: string;
  readonly serving: ServingSettings;
  /** Undefined if all clusters run in this thread. */
  readonly workersFor: WorkersFor | undefined;
  /** Limits unproven deletions over all clusters of a fleet. */
  readonly fleetBrake: NamedFleetBrake | undefined;
  /** A dry run for all clusters, whatever their entries say. */
  readonly dryRun: boolean;
}

/**
 * Runs the clusters of a registry with their functions and their sweep until a signal ends it. With worker
 * threads, a cluster's functions run in the thread of its relay, so that its API server's answers affect no
 * cluster of another thread.
 */
export async function runClusters({ workersFor, fleetBrake, ...options }: RunClustersOptions): Promise<void> {
  if (workersFor !== undefined)
    return runRelayInWorkers({
      ...options,
      workersFor,
      workerOf: (common) => ({ ...common, kind: RUN_WORKER, fleetBrake: fleetBrake?.reference }),
    });
  const { opened, serving, dryRun } = options;
  const { stops } = opened;
  const readStop = stopOfAll(stops);
  const tracing = await startTracing(process.env, log, "serverless-ccm");
  const { followed, functions, sweeping } = createRunParts({
    connect: (cluster, role) => connectFunction(cluster, role, opened.addresses),
    ...{ log, readStop, tracing, fleetBrake: fleetBrake?.open() },
  });
  await serve({
    ...(await prepareClustersInThread(opened, dryRun, followed)),
    ...{ invoker: functions, tracer: tracing.tracer },
    sweep(metrics) {
      metrics.followSweep(sweeping.overdue);
      return sweeping;
    },
    serving,
  });
}
