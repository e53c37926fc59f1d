import { randomBytes } from "node:crypto";
import { Worker } from "node:worker_threads";
import { connectRelay } from "#cli/clusters/connect-identity.ts";
import { onHangup } from "#cli/process.ts";
import { followClusters } from "#cli/relay/follow-clusters.ts";
import type { OpenedClusters } from "#cli/relay/opened-clusters.ts";
import type {
  CommonWorkerData,
  RelayWorkerData,
  RunWorkerData,
  WorkersFor,
} from "#cli/relay/relay-worker-data.ts";
import {
  type ClustersFollower,
  createQuotaPart,
  log,
  type ServedRelay,
  serveUntilSignal,
} from "#cli/relay/serve.ts";
import type { ServingSettings } from "#cli/relay/serving-settings.ts";
import { logNoUsableCluster, startHealth } from "#cli/relay/start-health.ts";
import type { AddressRules } from "#config/address-rules.ts";
import type { Cluster } from "#config/cluster.ts";
import { hasNoEntries } from "#config/clusters-file.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { FUNCTION_TIMEOUT_MS } from "#platforms/invoker.ts";
import type { PlatformInvoker } from "#platforms/platform.ts";
import { type ClusterState, markSlowedClusters } from "#relay/cluster-state.ts";
import {
  createInvocationLimiter,
  type ProcessInvocationLimiter,
} from "#relay/delivery/create-invocation-limiter.ts";
import type { ProcessPlatformHealth } from "#relay/delivery/platform-health.ts";
import { createRelayMetrics } from "#relay/report/metrics.ts";
import { isAllOfOthers } from "#relay/sharding/shard.ts";
import {
  createWorkerMetrics,
  mergeMetrics,
  mergeValues,
  type WorkerMetrics,
} from "#relay/workers/metrics.ts";
import { createPool, type Pool } from "#relay/workers/pool.ts";
import type { Spawn } from "#relay/workers/running-worker.ts";

export interface RelayInWorkersOptions {
  readonly opened: OpenedClusters;
  /** URL of the module with which a worker starts. */
  readonly program: string;
  readonly serving: ServingSettings;
  readonly workersFor: WorkersFor;
  /** Returns the data with which a worker starts. */
  readonly workerOf: (common: CommonWorkerData) => RelayWorkerData | RunWorkerData;
  /**
   * Checks whether deployed functions can be invoked; each worker has an invoker of its own. Without it the
   * workers run the functions.
   */
  readonly platform?: PlatformInvoker | undefined;
  /** Whether workers handle events themselves while the platform fails. */
  readonly hasFallback?: boolean;
}

/** The maximum time from granting a permit to the end of its function: its timeout, and the time to start. */
const LONGEST_INVOCATION_MS = FUNCTION_TIMEOUT_MS + 5_000;

/**
 * Runs the clusters of a registry in worker threads until a signal ends it; what workers cannot stop stays in
 * this thread.
 */
export async function runRelayInWorkers(options: RelayInWorkersOptions): Promise<void> {
  const { serving, platform } = options;
  const { registry, content, addresses, shard, stops } = options.opened;
  const isUsable =
    hasNoEntries(content) ||
    isAllOfOthers(content, shard) ||
    (await isAnyUsable(content.clusters, addresses));
  if (!isUsable) logNoUsableCluster(registry.name);
  const clock = systemClock;
  const workerMetrics = createWorkerMetrics();
  const limiter = createInvocationLimiter({
    clock,
    random: Math.random,
    partOf: createQuotaPart(serving, shard),
  });
  const health =
    platform !== undefined && options.hasFallback === true
      ? startHealth({
          ...{ invoker: platform, log, clock },
          clusters: () => pool.status().length,
          onChange: () => pool.tellHealth(),
        })
      : undefined;
  const pool = createPool({
    health,
    spawn: spawnWith(options),
    workersFor: options.workersFor,
    limiter,
    clock,
    longestInvocationMs: LONGEST_INVOCATION_MS,
    stops,
    log,
    onDeath: workerMetrics.died,
  });
  const status = markSlowedClusters(pool.status, limiter.status);
  const follower = followInPool(options.opened, pool);
  await serveUntilSignal({
    relay: { drain: pool.drain, status },
    dryRun: platform?.dryRun,
    metrics: createMetrics({ pool, workerMetrics, status, limiter, health, follower }),
    serving,
    shard,
    failing: health?.failing,
    clusters: content.clusters.length,
    hasNoClusters: follower.hasNoClusters,
    stop: () => follower.stop(),
    async close() {
      await health?.close();
      await pool.close();
      stops?.close();
      await Promise.all([follower.stopped, platform?.close()]);
    },
  });
}

/** Keeps the clusters of the workers in line with their registry. */
function followInPool({ registry, content, dryRun }: OpenedClusters, pool: Pool): ClustersFollower {
  return followClusters({
    registry,
    content,
    followed: content.clusters.map((cluster) => ({ cluster })),
    keep: (name, _, already) => ({
      setDesiredState: (cluster) => pool.setDesiredState(name, cluster, already !== undefined),
      setEntryFault: (fault) => pool.setEntryFault(name, fault),
    }),
    ...{ dryRun, log, onHangup },
  });
}

interface MetricsOptions {
  readonly pool: Pool;
  readonly workerMetrics: WorkerMetrics;
  readonly status: () => readonly ClusterState[];
  readonly limiter: Pick<ProcessInvocationLimiter, "status">;
  readonly health: Pick<ProcessPlatformHealth, "failing"> | undefined;
  readonly follower: Pick<ClustersFollower, "isUnreadable">;
}

/** Creates the metrics of this thread, which it serves together with those of the workers. */
function createMetrics(options: MetricsOptions): ServedRelay["metrics"] {
  const { pool, workerMetrics, status, limiter, health, follower } = options;
  const metrics = createRelayMetrics();
  metrics.follow(status);
  metrics.followLimiter(limiter.status);
  if (health !== undefined) metrics.followFallback(health.failing);
  metrics.followSweep(() => getOverdue(pool.status()));
  metrics.followHome(follower.isUnreadable);
  workerMetrics.follow(() => ({
    workers: pool.workers(),
    quarantined: new Map(pool.status().map(({ name }) => [name, pool.isQuarantined(name)])),
  }));
  const own = () => Promise.all([metrics.values(), workerMetrics.values()]);
  return {
    followPlatform: metrics.followPlatform,
    contentType: metrics.contentType,
    text: async () => mergeMetrics(await own(), await pool.metrics()),
    values: async () => mergeValues(await own(), await pool.metrics()),
  };
}

/** Returns whether any cluster is usable. Workers report the unusable ones and retry. */
async function isAnyUsable(clusters: readonly Cluster[], addresses: AddressRules): Promise<boolean> {
  for (const cluster of clusters) {
    const transport = await connectRelay(cluster, addresses).catch(() => undefined);
    await transport?.close();
    if (transport !== undefined) return true;
  }
  return false;
}

/**
 * The heap limit of a worker: a cluster of 10,000 nodes and fifty small ones. It follows from
 * docs/decisions/0012-bulkheads.md, like the size of the young generation, which src/cli/relay/small-heap.ts also sets
 * for the main thread.
 */
const OLD_GENERATION_MEBIBYTES = 256;
const YOUNG_GENERATION_MEBIBYTES = 12;

function spawnWith({ opened, program, serving, workerOf }: RelayInWorkersOptions): Spawn {
  const identity = randomBytes(4).toString("hex");
  return (start) => {
    const workerData = workerOf({
      start,
      addresses: opened.addresses,
      identity: `${identity}-${start.id}`,
      nodeStatusUpdateFrequencySeconds: serving.nodeStatusUpdateFrequencySeconds,
    });
    return new Worker(new URL(program), {
      name: `${workerData.kind}-${start.id}`,
      workerData,
      resourceLimits: {
        maxOldGenerationSizeMb: OLD_GENERATION_MEBIBYTES,
        maxYoungGenerationSizeMb: YOUNG_GENERATION_MEBIBYTES,
      },
    });
  };
}

/** Returns the overdue nodes that the workers' sweeps have found, by cluster. */
function getOverdue(clusters: readonly ClusterState[]): ReadonlyMap<string, number> {
  const found = clusters.flatMap(({ name, overdue }) =>
    overdue === undefined ? [] : ([[name, overdue]] as const),
  );
  return new Map(found);
}
