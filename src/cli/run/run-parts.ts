import { createFollowedClusters, type FollowedClusters } from "#cli/relay/follow-clusters.ts";
import type { ProcessTracing } from "#cli/relay/start-tracing.ts";
import { keepForFunctions } from "#cli/run/function-resources.ts";
import {
  createInProcessFunctions,
  type InProcessFunctions,
  type InProcessFunctionsOptions,
} from "#cli/run/in-process-functions.ts";
import {
  MINUTE_MS,
  type SweepEveryMinuteOptions,
  type Sweeping,
  sweepEveryMinute,
} from "#cli/run/sweep-every-minute.ts";
import type { Cluster } from "#config/cluster.ts";
import type { SignInRole } from "#config/sign-in/error.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import type { Transport } from "#kube/client/transport.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { createSweepTurns } from "#sweep/sweep-cluster.ts";

export interface RunPartsOptions extends Pick<InProcessFunctionsOptions, "log" | "readStop" | "fleetBrake"> {
  /** Connects to a cluster as an identity; rejects if it cannot sign in. */
  readonly connect: (cluster: Cluster, role: SignInRole) => Promise<Transport>;
  /** Traces the functions and their invocations; without it nothing is traced. */
  readonly tracing?: ProcessTracing | undefined;
}

/** The parts of `run` in addition to a relay of many clusters, in any thread. */
export interface RunParts {
  readonly followed: FollowedClusters;
  /** Closing it also closes what was kept for clusters. */
  readonly functions: InProcessFunctions;
  readonly sweeping: SweepingClusters;
}

/**
 * Creates the functions and the sweep for clusters that come and go; a removed cluster's resources are
 * closed.
 */
export function createRunParts({ connect, log, readStop, tracing, fleetBrake }: RunPartsOptions): RunParts {
  const kept = keepForFunctions(connect);
  const followed = createFollowedClusters({
    added(cluster) {
      // The relay sweeps the clusters that only it can reach.
      if (cluster.writes !== "relay") sweeping.add(cluster);
      functions.load(cluster.controllers).catch((error: unknown) => {
        const message = `its controllers cannot be loaded: ${getErrorMessage(error)}`;
        log({ level: "error", event: "ClusterFailed", cluster: cluster.name, message });
      });
    },
    async removed(name) {
      await sweeping.remove(name);
      await kept.forget(name);
    },
  });
  const functions = createInProcessFunctions({
    ...{
      clusters: followed.find,
      api: kept.api,
      cloud: kept.cloud,
      log,
      readStop,
      tracer: tracing?.functions,
      fleetBrake,
    },
  });
  const sweeping = sweepClusters({
    api: (cluster) => kept.api(cluster, "sweep"),
    ...{ invoker: functions, log, readStop },
  });
  const closing = { ...functions, close: kept.close };
  return { followed, functions: tracing?.invoker(closing) ?? closing, sweeping };
}

type SweepClustersOptions = Pick<
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
  /** Returns the number of overdue nodes and Services in the last list, by cluster. */
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
      const sweep = sweeping.get(name);
      sweeping.delete(name);
      await sweep?.close();
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
