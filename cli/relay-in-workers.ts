import { randomBytes } from "node:crypto";
import { Worker } from "node:worker_threads";
import { connectRelay } from "#cli/connect-relay.ts";
import { followClusters } from "#cli/follow-clusters.ts";
import { FUNCTION_TIMEOUT_MS } from "#cli/function-timeout.ts";
import { onHangup } from "#cli/hangup.ts";
import type { OpenedClusters } from "#cli/opened-clusters.ts";
import type { CommonWorkerData, RelayWorkerData, RunWorkerData } from "#cli/relay-worker-data.ts";
import { log, partOfQuotas, serveUntilSignal } from "#cli/serve.ts";
import type { ServingSettings } from "#cli/settings.ts";
import { startHealth } from "#cli/start-health.ts";
import { sayThatNoneIsUsable } from "#cli/start-notes.ts";
import type { WorkersFor } from "#cli/workers.ts";
import type { AddressRules } from "#config/address-rules.ts";
import type { Cluster } from "#config/cluster.ts";
import { hasNoEntries } from "#config/clusters-file.ts";
import type { LambdaInvoker } from "#delivery/invoke-lambda.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { createGate } from "#relay/delivery/create-gate.ts";
import type { FollowedCluster } from "#relay/followed-cluster.ts";
import { createRelayMetrics } from "#relay/report/metrics.ts";
import { withSlowed } from "#relay/report/slowed.ts";
import { isAllOfOthers } from "#relay/sharding/shard.ts";
import { mergeMetrics, mergeValues } from "#relay/workers/merge-metrics.ts";
import { createWorkerMetrics } from "#relay/workers/metrics.ts";
import { createPool } from "#relay/workers/pool.ts";
import type { Spawn } from "#relay/workers/running-worker.ts";

export interface RelayInWorkersOptions {
  readonly opened: OpenedClusters;
  /** URL of the module that a worker is started with. */
  readonly program: string;
  readonly serving: ServingSettings;
  readonly workersFor: WorkersFor;
  /** A dry run for all clusters, whatever their entries say. */
  readonly dryRun: boolean;
  /** What a worker is started with. */
  readonly workerOf: (common: CommonWorkerData) => RelayWorkerData | RunWorkerData;
  /** Looks at whether deployed functions can be invoked; workers have one each of their own to invoke them. Without it they have the functions. */
  readonly platform?: LambdaInvoker | undefined;
  /** Whether workers handle events by themselves while the platform fails. */
  readonly hasFallback?: boolean;
}

/** How long after its place was given a function may still be at work: its own time-out, and what it takes to start. */
const LONGEST_INVOCATION_MS = FUNCTION_TIMEOUT_MS + 5_000;

/** The clusters of a home in worker threads, until a signal ends it; what they cannot stop stays in this thread. */
export async function relayInWorkers(options: RelayInWorkersOptions): Promise<void> {
  const { serving, platform } = options;
  const { home, content, addresses, shard, stops } = options.opened;
  const isUsable =
    hasNoEntries(content) ||
    isAllOfOthers(content, shard) ||
    (await isAnyUsable(content.clusters, addresses));
  if (!isUsable) sayThatNoneIsUsable(home.name);
  const clock = systemClock;
  const workerMetrics = createWorkerMetrics();
  const gate = createGate({ clock, random: Math.random, partOf: partOfQuotas(serving, shard) });
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
    gate,
    clock,
    longestInvocationMs: LONGEST_INVOCATION_MS,
    stops,
    log,
    onDeath: workerMetrics.died,
  });
  const metrics = createRelayMetrics();
  const status = withSlowed(pool.status, gate.status);
  metrics.follow(status);
  metrics.followGate(gate.status);
  if (health !== undefined) metrics.followFallback(health.failing);
  metrics.followSweep(() => overdueIn(pool.status()));
  workerMetrics.follow(() => ({
    workers: pool.workers(),
    quarantined: new Map(pool.status().map(({ name }) => [name, pool.isQuarantined(name)])),
  }));
  const own = () => Promise.all([metrics.values(), workerMetrics.values()]);
  const follower = followClusters({
    home,
    content,
    followed: content.clusters.map((cluster) => ({ cluster })),
    keep: (name, _, already) => ({
      want: (cluster) => pool.want(name, cluster, already !== undefined),
      setEntryFault: (fault) => pool.setEntryFault(name, fault),
    }),
    ...{ dryRun: options.dryRun, log, onHangup },
  });
  metrics.followHome(follower.isUnreadable);
  await serveUntilSignal({
    relay: { drain: pool.drain, status },
    dryRun: platform?.dryRun,
    metrics: {
      followPlatform: metrics.followPlatform,
      contentType: metrics.contentType,
      text: async () => mergeMetrics(await own(), await pool.metrics()),
      values: async () => mergeValues(await own(), await pool.metrics()),
    },
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

/** The first that is will do; workers say of the others why not, and try again. */
async function isAnyUsable(clusters: readonly Cluster[], addresses: AddressRules): Promise<boolean> {
  for (const cluster of clusters) {
    const transport = await connectRelay(cluster, addresses).catch(() => undefined);
    await transport?.close();
    if (transport !== undefined) return true;
  }
  return false;
}

/**
 * What a worker's heap may hold: a cluster of 10,000 nodes beside fifty small ones. Follows from docs/decisions/0012-bulkheads.md, as
 * does the size of the young generation, which is what cli/small-heap.ts gives the main thread.
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

/** By cluster, what the sweeps of the workers have found. */
function overdueIn(clusters: readonly FollowedCluster[]): ReadonlyMap<string, number> {
  const found = clusters.flatMap(({ name, overdue }) =>
    overdue === undefined ? [] : ([[name, overdue]] as const),
  );
  return new Map(found);
}
