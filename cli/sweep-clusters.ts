import type { Sweeping } from "#cli/sweep-every-minute.ts";
import { MINUTE_MS, type SweepEveryMinuteOptions, sweepEveryMinute } from "#cli/sweep-every-minute.ts";
import type { Cluster } from "#config/cluster.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { createSweepTurns } from "#sweep/sweep-cluster.ts";

export type SweepClustersOptions = Pick<
  SweepEveryMinuteOptions,
  "api" | "invoker" | "log" | "watches" | "clock" | "random" | "readStop"
>;

/**
 * Sweeps the clusters of a process independently: a slow one delays no other, except for its turn to list.
 */
export interface SweepingClusters extends Sweeping {
  add(cluster: Cluster): void;
  /** Stops sweeping a cluster and abandons what is in flight. */
  remove(name: string): Promise<void>;
  /** Returns the number of overdue nodes in the last list, by cluster. */
  overdue(): ReadonlyMap<string, number>;
}

/**
 * Creates the sweeps without clusters. They are spread over the minute, so that clusters that start together
 * do not list together.
 */
export function sweepClusters(options: SweepClustersOptions): SweepingClusters {
  const { clock = systemClock, random = Math.random } = options;
  const turns = createSweepTurns(clock);
  const sweeping = new Map<string, Sweeping>();
  const overdue = new Map<string, number>();
  let isStopped = false;

  return {
    add(cluster) {
      if (isStopped || sweeping.has(cluster.name)) return;
      const onOverdue = (nodes: number): void => void overdue.set(cluster.name, nodes);
      const firstMs = MINUTE_MS * (1 + random());
      sweeping.set(cluster.name, sweepEveryMinute({ ...options, cluster, onOverdue, firstMs, turns }));
    },
    async remove(name) {
      const one = sweeping.get(name);
      sweeping.delete(name);
      await one?.close();
      overdue.delete(name);
    },
    overdue: () => overdue,
    stop() {
      isStopped = true;
      for (const each of sweeping.values()) each.stop();
    },
    async close() {
      isStopped = true;
      await Promise.all([...sweeping.values()].map((each) => each.close()));
    },
  };
}
