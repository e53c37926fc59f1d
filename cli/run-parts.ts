import { createFollowedClusters, type FollowedClusters } from "#cli/followed-clusters.ts";
import { keepForFunctions } from "#cli/function-resources.ts";
import {
  createInProcessFunctions,
  type InProcessFunctions,
  type InProcessFunctionsOptions,
} from "#cli/in-process-functions.ts";
import type { ProcessTracing } from "#cli/start-tracing.ts";
import { type SweepingClusters, sweepClusters } from "#cli/sweep-clusters.ts";
import type { Cluster } from "#config/cluster.ts";
import type { SignInRole } from "#config/sign-in/error.ts";
import { getErrorMessage } from "#core/error-message.ts";
import type { Transport } from "#kube/client/transport.ts";

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
