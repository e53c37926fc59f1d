import type { Cloud } from "#clouds/cloud.ts";
import type { Cluster, Clusters } from "#config/cluster.ts";
import type { FleetBrake } from "#config/fleet-brake/fleet-brake.ts";
import type { Stop } from "#core/stop.ts";
import type { FunctionTracer } from "#functions/parts/function-tracer.ts";
import type { Log } from "#functions/parts/log-report.ts";
import type { Transport } from "#kube/client/transport.ts";

/** The dependencies of a function. Their creator owns them: a function closes nothing. */
export interface Dependencies {
  readonly clusters: Clusters;
  /** Returns the cluster's cloud, cached by configuration; rejects if the configuration is invalid. */
  cloud(cluster: Cluster): Promise<Cloud>;
  /** Returns the cluster's API server with the function's identity; rejects if sign-in fails. */
  api(cluster: Cluster): Promise<Transport>;
  now(): Date;
  /** Milliseconds of a monotonic clock. Default: the process's. */
  readonly monotonicMs?: () => number;
  /**
   * Returns the operators' stop for a cluster, at most a few seconds old. Without it, only the event's stop
   * counts. Never rejects: while the switch is unreadable, it returns the last known stop, at least
   * `unproven`.
   */
  readonly readStop?: (cluster: string) => Promise<Stop | undefined>;
  /** Default: no log. */
  readonly log?: Log;
  /** Default: no traces. */
  readonly tracer?: FunctionTracer | undefined;
  /**
   * Grants unproven deletions across all clusters of a fleet. Without it, only each cluster's own brake
   * applies.
   */
  readonly fleetBrake?: FleetBrake | undefined;
}
