import type { Sweeping } from "#cli/serve.ts";
import { MINUTE_MS, type SweepEveryMinuteOptions, sweepEveryMinute } from "#cli/sweep-every-minute.ts";
import type { Cluster } from "#config/cluster.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { createSweepTurns } from "#sweep/sweep-cluster.ts";

export type SweepClustersOptions = Pick<
  SweepEveryMinuteOptions,
  "api" | "invoker" | "log" | "watches" | "clock" | "random" | "stopOf"
>;

/** Sweeps the clusters of a process, each by itself: one that takes its time keeps no other waiting, but for its turn to list. */
export interface SweepingClusters extends Sweeping {
  add(cluster: Cluster): void;
  /** It is swept no longer; what is in flight is given up. */
  remove(name: string): Promise<void>;
  /** By cluster, how many overdue nodes the last list found. */
  overdue(): ReadonlyMap<string, number>;
}

/** Sweeps no cluster yet. Their sweeps are spread over the minute: those that begin together do not list together. */
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
