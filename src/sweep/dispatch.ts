import type { Cluster } from "#config/cluster.ts";
import { splitIntoChunks } from "#core/chunks.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { createSemaphore } from "#kube/client/semaphore.ts";
import { createAbortPatience } from "#kube/client/time-limit.ts";
import { pause } from "#kube/follow/clock.ts";
import {
  buildSweepLines,
  buildUnsweptLine,
  MAX_SHARD_CLUSTERS,
  type Shard,
  type SweepLine,
  type SweepPayload,
} from "#sweep/payload.ts";
import { toMinute } from "#sweep/select.ts";
import {
  type ClusterSweep,
  type SweepDependencies,
  type SweepTime,
  sweepCluster,
} from "#sweep/sweep-cluster.ts";

/** The dependencies of a sweep of many clusters. */
export interface DispatchDependencies extends SweepDependencies {
  /** Returns all usable clusters; rejects if they are unknown. */
  readonly clusters: () => Promise<readonly Cluster[]>;
  /** Returns the clusters of a shard. Default: selects them from all clusters. */
  readonly clustersNamed?: (names: readonly string[]) => Promise<readonly Cluster[]>;
  /**
   * Hands a shard to another invocation without waiting for it; rejects if the platform does not accept it.
   */
  readonly handOn: (shard: Shard, signal: AbortSignal) => Promise<void>;
  /**
   * Milliseconds between two handed-on shards, because each reads from an account's quota at its start.
   * Default: none.
   */
  readonly handOnEveryMs?: number;
  readonly log: (line: SweepLine) => void;
}

/** The counts of one invocation. */
export interface SweepResult {
  /** Shards handed on, and clusters swept here. */
  readonly shards: number;
  readonly clusters: number;
  readonly overdue: number;
  /** Clusters whose sweep was not finished or not started. */
  readonly unfinished: number;
}

/** Time limit for handing on all shards. */
const HAND_ON_WITHIN_MS = 20_000;

/** Shards handed on at a time. */
const MAX_PARALLEL_SHARDS = 10;

/**
 * Runs a sweep's payload: the clusters of a shard, or all clusters, handed on in shards if there are many.
 */
export async function sweep(
  payload: SweepPayload,
  world: DispatchDependencies,
  time: Omit<SweepTime, "minute">,
): Promise<SweepResult> {
  switch (payload.kind) {
    case "late": {
      const message = `the shard is of ${Math.round(payload.lateMs / 1_000)} s ago; its clusters have had other sweeps since`;
      world.log({ level: "warn", event: "SweepNotDone", code: "Late", message });
      return { ...NOTHING };
    }
    case "all": {
      const clusters = await world.clusters();
      if (clusters.length > MAX_SHARD_CLUSTERS)
        return dispatchShards(clusters, payload.atMs, world, time.signal);
      return sweepAll(clusters, payload.atMs, world, time);
    }
    case "shard": {
      const { shard } = payload;
      const found = await (world.clustersNamed?.(shard.clusters) ?? world.clusters());
      const known = new Map(found.map((cluster) => [cluster.name, cluster]));
      const clusters = shard.clusters.flatMap((name) => known.get(name) ?? []);
      const unknown = shard.clusters.filter((name) => !known.has(name));
      if (unknown.length > 0) world.log(buildUnsweptLine(unknown, "UnknownCluster", UNKNOWN));
      const result = await sweepAll(clusters, shard.at, world, time);
      return { ...result, unfinished: result.unfinished + unknown.length };
    }
  }
}

/** All at once: they wait for other systems, and lists share read permits. */
async function sweepAll(
  clusters: readonly Cluster[],
  atMs: number,
  world: DispatchDependencies,
  time: Omit<SweepTime, "minute">,
): Promise<SweepResult> {
  const minute = toMinute(atMs);
  const sweeps = await Promise.all(
    rotateClusters(clusters, minute).map((cluster) => sweepCluster(cluster, world, { ...time, minute })),
  );
  for (const line of buildSweepLines(sweeps)) world.log(line);
  return {
    shards: 0,
    clusters: sweeps.length,
    overdue: sweeps.reduce((sum, { overdue }) => sum + overdue, 0),
    unfinished: sweeps.filter(isUnfinished).length,
  };
}

/** Rotates the order each minute, so that a time limit does not always affect the same cluster. */
export function rotateClusters<T>(items: readonly T[], minute: number): readonly T[] {
  const first = items.length === 0 ? 0 : minute % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}

async function dispatchShards(
  clusters: readonly Cluster[],
  atMs: number,
  world: DispatchDependencies,
  signal: AbortSignal,
): Promise<SweepResult> {
  const slots = createSemaphore(() => MAX_PARALLEL_SHARDS, Number.POSITIVE_INFINITY);
  const handOn = async (shard: Shard, delayMs: number): Promise<number> => {
    if (delayMs > 0) await pause(world.clock, delayMs, signal);
    const isIn = (await slots.acquire(createAbortPatience(signal))) === "entered";
    try {
      if (!isIn) throw new Error("the time of this sweep was up");
      await world.handOn(shard, signal);
      return 0;
    } catch (error) {
      world.log(buildUnsweptLine(shard.clusters, "NotHandedOn", getErrorMessage(error)));
      return shard.clusters.length;
    } finally {
      if (isIn) slots.release();
    }
  };
  const names = clusters.map(({ name }) => name);
  const shards = splitIntoChunks(names, MAX_SHARD_CLUSTERS).map(
    (each): Shard => ({ clusters: each, at: atMs }),
  );
  const everyMs = Math.min(world.handOnEveryMs ?? 0, HAND_ON_WITHIN_MS / shards.length);
  const lost = await Promise.all(shards.map((shard, index) => handOn(shard, index * everyMs)));
  return { ...NOTHING, shards: shards.length, unfinished: lost.reduce((sum, count) => sum + count, 0) };
}

function isUnfinished({ because }: ClusterSweep): boolean {
  return because !== undefined;
}

const UNKNOWN = "the file that CLUSTERS_FILE names has no such clusters, or their entries are faulty";

const NOTHING: SweepResult = { shards: 0, clusters: 0, overdue: 0, unfinished: 0 };
