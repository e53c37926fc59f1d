import type { Cluster } from "#config/cluster.ts";
import { messageOf } from "#core/message-of.ts";
import { untilAborted } from "#kube/client/on-abort.ts";
import { createSlots } from "#kube/client/slots.ts";
import { pause } from "#kube/follow/clock.ts";
import { MAX_SHARD_CLUSTERS, type Shard, type SweepPayload } from "#sweep/payload.ts";
import { type ClusterSweep, type SweepTime, type SweepWorld, sweepCluster } from "#sweep/sweep-cluster.ts";
import { type SweepLine, sweepLines, unsweptLine } from "#sweep/sweep-line.ts";
import { minuteOf } from "#sweep/turns.ts";

/** What a sweep of many clusters touches. */
export interface DispatchWorld extends SweepWorld {
  /** All clusters that can be used; rejects where nobody can tell. */
  readonly clusters: () => Promise<readonly Cluster[]>;
  /** Those of a shard; out of all of them without it. */
  readonly clustersNamed?: (names: readonly string[]) => Promise<readonly Cluster[]>;
  /** Hands a shard on to another invocation, and does not wait for it; rejects where that is not taken. */
  readonly handOn: (shard: Shard, signal: AbortSignal) => Promise<void>;
  /**
   * Milliseconds between two shards that are handed on, where what each of them reads when it begins is of an account's quota; none
   * without it.
   */
  readonly handOnEveryMs?: number;
  readonly log: (line: SweepLine) => void;
}

/** What one invocation came to, in numbers. */
export interface SweepResult {
  /** Shards that were handed on, and clusters that were swept here. */
  readonly shards: number;
  readonly clusters: number;
  readonly overdue: number;
  /** Clusters whose sweep was not finished, or not begun. */
  readonly unfinished: number;
}

/** All shards are handed on within this time, however many they are. */
const HAND_ON_WITHIN_MS = 20_000;

/** Shards that are handed on at a time. */
const HANDED_AT_ONCE = 10;

/** Carries out what a sweep was invoked with: the clusters of a shard, or all of them, handed on in shards where they are many. */
export async function sweep(
  payload: SweepPayload,
  world: DispatchWorld,
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
      if (clusters.length > MAX_SHARD_CLUSTERS) return handOnAll(clusters, payload.atMs, world, time.signal);
      return sweepAll(clusters, payload.atMs, world, time);
    }
    case "shard": {
      const { shard } = payload;
      const found = await (world.clustersNamed?.(shard.clusters) ?? world.clusters());
      const known = new Map(found.map((cluster) => [cluster.name, cluster]));
      const clusters = shard.clusters.flatMap((name) => known.get(name) ?? []);
      const unknown = shard.clusters.filter((name) => !known.has(name));
      if (unknown.length > 0) world.log(unsweptLine(unknown, "UnknownCluster", UNKNOWN));
      const result = await sweepAll(clusters, shard.at, world, time);
      return { ...result, unfinished: result.unfinished + unknown.length };
    }
  }
}

/** All at the same time: what is waited for is somebody else's, and lists take turns. */
async function sweepAll(
  clusters: readonly Cluster[],
  atMs: number,
  world: DispatchWorld,
  time: Omit<SweepTime, "minute">,
): Promise<SweepResult> {
  const minute = minuteOf(atMs);
  const sweeps = await Promise.all(
    inTurn(clusters, minute).map((cluster) => sweepCluster(cluster, world, { ...time, minute })),
  );
  for (const line of sweepLines(sweeps)) world.log(line);
  return {
    shards: 0,
    clusters: sweeps.length,
    overdue: sweeps.reduce((sum, { overdue }) => sum + overdue, 0),
    unfinished: sweeps.filter(isUnfinished).length,
  };
}

/** Whose time is up before its turn is another cluster's fate each minute. */
function inTurn<T>(items: readonly T[], minute: number): readonly T[] {
  const first = items.length === 0 ? 0 : (minute * 7) % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}

async function handOnAll(
  clusters: readonly Cluster[],
  atMs: number,
  world: DispatchWorld,
  signal: AbortSignal,
): Promise<SweepResult> {
  const slots = createSlots(() => HANDED_AT_ONCE, Number.POSITIVE_INFINITY);
  const handOn = async (shard: Shard, delayMs: number): Promise<number> => {
    if (delayMs > 0) await pause(world.clock, delayMs, signal);
    const isIn = (await slots.enter(untilAborted(signal))) === "entered";
    try {
      if (!isIn) throw new Error("the time of this sweep was up");
      await world.handOn(shard, signal);
      return 0;
    } catch (error) {
      world.log(unsweptLine(shard.clusters, "NotHandedOn", messageOf(error)));
      return shard.clusters.length;
    } finally {
      if (isIn) slots.leave();
    }
  };
  const names = clusters.map(({ name }) => name);
  const shards = shardsOf(names).map((each): Shard => ({ clusters: each, at: atMs }));
  const everyMs = Math.min(world.handOnEveryMs ?? 0, HAND_ON_WITHIN_MS / shards.length);
  const lost = await Promise.all(shards.map((shard, index) => handOn(shard, index * everyMs)));
  return { ...NOTHING, shards: shards.length, unfinished: lost.reduce((sum, count) => sum + count, 0) };
}

function shardsOf(names: readonly string[]): string[][] {
  const count = Math.ceil(names.length / MAX_SHARD_CLUSTERS);
  return Array.from({ length: count }, (_, index) =>
    names.slice(index * MAX_SHARD_CLUSTERS, (index + 1) * MAX_SHARD_CLUSTERS),
  );
}

function isUnfinished({ because }: ClusterSweep): boolean {
  return because !== undefined;
}

const UNKNOWN = "the file that CLUSTERS_FILE names has no such clusters, or their entries are faulty";

const NOTHING: SweepResult = { shards: 0, clusters: 0, overdue: 0, unfinished: 0 };
