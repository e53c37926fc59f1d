import * as z from "zod";
import { connectFunction } from "#cli/clusters/connect-identity.ts";
import { connectExplained } from "#cli/clusters/explain-refusal.ts";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { openFleetBrake, readFleetBrake, refuseOneThread } from "#cli/deletion/fleet-record.ts";
import { followSwitch, stopOfAll } from "#cli/deletion/stop-switch.ts";
import { type OpenedClusters, openClusters, prepareClustersInThread } from "#cli/relay/opened-clusters.ts";
import {
  type ClusterFollowSettings,
  type ProcessFlags,
  type ProcessSettings,
  readFollowedSettings,
} from "#cli/relay/process-settings.ts";
import { runRelayInWorkers } from "#cli/relay/relay-in-workers.ts";
import { RUN_WORKER, readWorkers } from "#cli/relay/relay-worker-data.ts";
import { log, serve } from "#cli/relay/serve.ts";
import { readServingSettings } from "#cli/relay/serving-settings.ts";
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
import { selectClusterSource } from "#cli/settings/cluster-settings.ts";
import { readStockFlags } from "#cli/settings/stock-flags.ts";
import type { Cloud } from "#clouds/cloud.ts";
import type { Environment } from "#clouds/provider.ts";
import { loadCloud } from "#clouds/providers.ts";
import type { SignInRole } from "#config/sign-in/error.ts";
import { type ConfigurationFault, listFaults } from "#core/config-errors.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { createClusterObjects } from "#functions/parts/cluster-objects.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { RelayMetrics } from "#relay/report/metrics.ts";

/** Reads the settings of `run`; throws `ConfigurationError`, or leaves faults to the registry's opening. */
export async function readRunSettings(
  flags: ProcessFlags,
  environment: Environment,
): Promise<ProcessSettings> {
  const faults: ConfigurationFault[] = [];
  const serving = readServingSettings(flags, faults);
  const stockFlags = readStockFlags(flags, faults);
  const workersFor = readWorkers(flags.workers, faults);
  const source = selectClusterSource(flags.clustersFile, flags.given, environment, faults);
  const fleetBrake = readFleetBrake(flags.fleetBrake, environment, faults);
  const join = await readSharding(flags, environment, faults);
  if (source.kind === "file" && flags.functionKubeconfig !== undefined) faults.push(FUNCTION_KUBECONFIG);
  if (source.kind === "file" && workersFor !== undefined) refuseOneThread(fleetBrake, faults);
  const followed = await readFollowedSettings(source, flags, join, environment, faults);
  return { serving, stockFlags, fleetBrake, workersFor, followed };
}

const FUNCTION_KUBECONFIG: ConfigurationFault = {
  name: "--function-kubeconfig",
  message:
    "describes one cluster, and cannot be combined with a clusters file: set signIn.NAME of each entry",
};

/** Runs relay and functions in this process until a signal ends it; worker threads start with `program`. */
export async function run(settings: ProcessSettings, program: string): Promise<void> {
  const { followed } = settings;
  if (followed.kind === "cluster") return runCluster(settings, followed);
  await runClusters(settings, await openClusters(followed), program);
}

/** Runs the one cluster that flags describe, in this thread. */
async function runCluster(
  settings: ProcessSettings,
  { cluster, relayAccess, functionsAccess, accessByFunction, stopSwitch, unreadFile }: ClusterFollowSettings,
): Promise<void> {
  if (unreadFile !== undefined) logFlagsWin(unreadFile);
  logStockFlags(settings.stockFlags);
  const stops = await followSwitch(stopSwitch, {});
  const fleetBrake = openFleetBrake(settings.fleetBrake);
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
    [...accessByFunction].map(([name, access]) => [name, connectExplained(access)] as const),
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
      serving: settings.serving,
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

/**
 * Runs the clusters of a registry with their functions and their sweep until a signal ends it. With worker
 * threads, a cluster's functions run in the thread of its relay, so that its API server's answers affect no
 * cluster of another thread. Workers start with `program`.
 */
async function runClusters(
  { serving, stockFlags, fleetBrake, workersFor }: ProcessSettings,
  opened: OpenedClusters,
  program: string,
): Promise<void> {
  logStockFlags(stockFlags);
  if (workersFor !== undefined)
    return runRelayInWorkers({
      ...{ opened, program, serving, workersFor },
      workerOf: (common) => ({ ...common, kind: RUN_WORKER, fleetBrake }),
    });
  const { stops } = opened;
  const readStop = stopOfAll(stops);
  const tracing = await startTracing(process.env, log, "serverless-ccm");
  const { followed, functions, sweeping } = createRunParts({
    connect: (cluster, role) => connectFunction(cluster, role, opened.addresses),
    ...{ log, readStop, tracing, fleetBrake: openFleetBrake(fleetBrake) },
  });
  await serve({
    ...(await prepareClustersInThread(opened, followed)),
    ...{ invoker: functions, tracer: tracing.tracer },
    sweep(metrics) {
      metrics.followSweep(sweeping.overdue);
      return sweeping;
    },
    serving,
  });
}
