import * as z from "zod";
import { connectFunction } from "#cli/clusters/connect-identity.ts";
import { connectExplained } from "#cli/clusters/explain-refusal.ts";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { type NamedFleetBrake, readFleetBrake, refuseOneThread } from "#cli/deletion/fleet-record.ts";
import { type FollowedSwitch, followSwitchOfFlags, stopOfAll } from "#cli/deletion/stop-switch.ts";
import {
  NOTHING_TO_SHARE,
  type OpenedClusters,
  openClusters,
  prepareClustersInThread,
  type RegistryFlags,
} from "#cli/relay/opened-clusters.ts";
import { runRelayInWorkers } from "#cli/relay/relay-in-workers.ts";
import { RUN_WORKER, readWorkers, type WorkersFor } from "#cli/relay/relay-worker-data.ts";
import { log, serve } from "#cli/relay/serve.ts";
import { readServingSettings, type ServingFlags, type ServingSettings } from "#cli/relay/serving-settings.ts";
import { readSharding } from "#cli/relay/sharding.ts";
import {
  logConfigurationWarnings,
  logFlagsWin,
  logNoReload,
  logStockFlags,
} from "#cli/relay/start-health.ts";
import { startTracing } from "#cli/relay/start-tracing.ts";
import { createInProcessFunctions } from "#cli/run/in-process-functions.ts";
import { createRunParts } from "#cli/run/run-parts.ts";
import { sweepEveryMinute } from "#cli/run/sweep-every-minute.ts";
import {
  type ClusterFlags,
  type ClusterSettings,
  readClusterSettings,
  selectClusterSource,
} from "#cli/settings/cluster-settings.ts";
import { readStockFlags } from "#cli/settings/stock-flags.ts";
import type { Cloud } from "#clouds/cloud.ts";
import { loadCloud } from "#clouds/providers.ts";
import type { FleetBrake } from "#config/fleet-brake/fleet-brake.ts";
import type { SignInRole } from "#config/sign-in/error.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { listFaults } from "#core/config-errors.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { createClusterObjects } from "#functions/parts/cluster-objects.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { RelayMetrics } from "#relay/report/metrics.ts";

/** The flags of `run`, as typed. */
export interface RunFlags extends ClusterFlags, ServingFlags, RegistryFlags {
  readonly dryRun: boolean;
}

/** Runs relay and functions in this process until a signal ends it; worker threads start with `program`. */
export async function run(flags: RunFlags, program: string): Promise<void> {
  const faults: ConfigurationFault[] = [];
  const serving = readServingSettings(flags, faults);
  const stockFlags = readStockFlags(flags, faults);
  const workersFor = readWorkers(flags.workers, faults);
  const source = selectClusterSource(flags.clustersFile, flags.given, process.env, faults);
  const fleetBrake = readFleetBrake(flags.fleetBrake, process.env, faults);
  const join = await readSharding(flags, process.env, faults);
  if (source.kind === "flags") {
    if (join !== undefined) faults.push(NOTHING_TO_SHARE);
    const settings = await readClusterSettings(flags, process.env, faults);
    if (source.unread !== undefined) logFlagsWin(source.unread);
    logStockFlags(stockFlags);
    return runOne(settings, serving, {
      stops: await followSwitchOfFlags(flags, process.env),
      fleetBrake: fleetBrake?.open(),
    });
  }
  if (flags.functionKubeconfig !== undefined) faults.push(FUNCTION_KUBECONFIG);
  if (workersFor !== undefined) refuseOneThread(fleetBrake, faults);
  const opened = await openClusters(source.file, flags, join, faults);
  logStockFlags(stockFlags);
  await runClusters({ opened, program, serving, workersFor, fleetBrake, dryRun: flags.dryRun });
}

const FUNCTION_KUBECONFIG: ConfigurationFault = {
  name: "--function-kubeconfig",
  message:
    "describes one cluster, and cannot be combined with a clusters file: set signIn.NAME of each entry",
};

/** The brakes beyond a cluster's own. */
interface Brakes {
  readonly stops: FollowedSwitch | undefined;
  readonly fleetBrake: FleetBrake | undefined;
}

/** Runs the one cluster that flags describe, in this thread. */
async function runOne(
  { cluster, relayAccess, functionsAccess, ownAccess }: ClusterSettings,
  serving: ServingSettings,
  { stops, fleetBrake }: Brakes,
): Promise<void> {
  const readStop = stopOfAll(stops);
  logNoReload();
  logConfigurationWarnings(cluster);
  const objects = createClusterObjects(() => apiOf("service"));
  const cloud = await loadCloud(cluster.cloud, { clusterName: cluster.name, objects }).catch((cause) => {
    throw new ConfigurationError(toCloudErrors(cause));
  });
  await checkWithCloud(cloud, cluster.name);
  const tracing = await startTracing(process.env, log, "serverless-ccm");
  const shared = connectExplained(functionsAccess);
  const own = new Map<SignInRole, Transport>(
    [...ownAccess].map(([name, access]) => [name, connectExplained(access)] as const),
  );
  const apiOf = async (role: SignInRole): Promise<Transport> => own.get(role) ?? shared;
  const functions = createInProcessFunctions({
    clusters: async (name) => (name === cluster.name ? cluster : undefined),
    cloud: async () => cloud,
    api: (_, role) => apiOf(role),
    ...{ log, readStop, fleetBrake },
    tracer: tracing.functions,
  });
  await functions.load(cluster.controllers);
  const transport = connectExplained(relayAccess);
  const invoker = tracing.invoker(functions);
  try {
    await serve({
      clusters: [{ cluster, transport }],
      invoker,
      sweep(metrics: Pick<RelayMetrics, "followSweep">) {
        const overdue = new Map<string, number>();
        metrics.followSweep(() => overdue);
        const onOverdue = (nodes: number): void => void overdue.set(cluster.name, nodes);
        const api = (): Promise<Transport> => apiOf("sweep");
        return sweepEveryMinute({ cluster, api, invoker, log, onOverdue, readStop });
      },
      serving,
      stops,
    });
  } finally {
    await Promise.all([...[shared, ...own.values()].map((api) => api.close()), cloud.close()]);
  }
}

function toCloudErrors(cause: unknown): ConfigurationFault[] {
  if (cause instanceof z.ZodError) {
    return listFaults(cause).map(({ path, message }) => ({ name: `the cloud's file, ${path}`, message }));
  }
  return [{ name: "--cloud-config", message: getErrorMessage(cause) }];
}

/** The time limit; a cloud that does not answer proves nothing about the configuration. */
const WITHIN_MS = 5_000;

/** Asks a cloud once whether it knows what the flags name, if it can tell; throws what is certainly wrong. */
async function checkWithCloud(cloud: Cloud, cluster: string): Promise<void> {
  const found = await cloud.checkConfiguration?.(AbortSignal.timeout(WITHIN_MS));
  if (found === undefined) return;
  if (found.unchecked !== undefined)
    log({ level: "warn", event: "ConfigurationUnchecked", cluster, message: found.unchecked });
  if (found.faults.length === 0) return;
  await cloud.close();
  throw new ConfigurationError(
    found.faults.map(({ key, message }) => ({ name: `--cloud-config ${key}`, message })),
  );
}

interface RunClustersOptions {
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
async function runClusters({ workersFor, fleetBrake, ...options }: RunClustersOptions): Promise<void> {
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
