import { createFollowedClusters, type FollowedClusters } from "#cli/followed-clusters.ts";
import {
  createInProcessFunctions,
  type InProcessFunctions,
  type InProcessFunctionsOptions,
} from "#cli/in-process-functions.ts";
import { keepForFunctions } from "#cli/kept-for-functions.ts";
import type { ProcessTracing } from "#cli/start-tracing.ts";
import { type SweepingClusters, sweepClusters } from "#cli/sweep-clusters.ts";
import type { Cluster } from "#config/cluster.ts";
import type { SignInRole } from "#config/sign-in.ts";
import { messageOf } from "#core/message-of.ts";
import type { Transport } from "#kube/client/transport.ts";

export interface RunPartsOptions extends Pick<InProcessFunctionsOptions, "log" | "stopOf" | "fleetBrake"> {
  /** Connects to a cluster as somebody; rejects where that one cannot sign in. */
  readonly connect: (cluster: Cluster, role: SignInRole) => Promise<Transport>;
  /** Traces the functions, and what invokes them; nothing is traced without it. */
  readonly tracing?: ProcessTracing | undefined;
}

/** What `run` has beside a relay of many clusters, in whichever thread they live. */
export interface RunParts {
  readonly followed: FollowedClusters;
  /** Closes, with its own, what was kept for clusters. */
  readonly functions: InProcessFunctions;
  readonly sweeping: SweepingClusters;
}

/** The functions and the sweep for clusters that come and go; whatever was opened for a cluster goes with it. */
export function createRunParts({ connect, log, stopOf, tracing, fleetBrake }: RunPartsOptions): RunParts {
  const kept = keepForFunctions(connect);
  const followed = createFollowedClusters({
    added(cluster) {
      // The relay sweeps those that it alone can reach.
      if (cluster.writes !== "relay") sweeping.add(cluster);
      functions.load(cluster.controllers).catch((error: unknown) => {
        const message = `its controllers cannot be loaded: ${messageOf(error)}`;
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
      stopOf,
      tracer: tracing?.functions,
      fleetBrake,
    },
  });
  const sweeping = sweepClusters({
    api: (cluster) => kept.api(cluster, "sweep"),
    ...{ invoker: functions, log, stopOf },
  });
  const closing = { ...functions, close: kept.close };
  return { followed, functions: tracing?.invoker(closing) ?? closing, sweeping };
}
