import type { Cloud } from "#clouds/cloud.ts";
import type { Cluster, Clusters } from "#config/cluster.ts";
import type { FleetBrake } from "#config/fleet-brake/fleet-brake.ts";
import type { Stop } from "#core/stop.ts";
import type { FunctionTracer } from "#functions/parts/function-tracer.ts";
import type { Log } from "#functions/parts/log-report.ts";
import type { Transport } from "#kube/client/transport.ts";

/** All that a function touches. Whoever makes them owns what is among them: a function closes nothing. */
export interface Dependencies {
  readonly clusters: Clusters;
  /** The cluster's cloud, the same one for the same configuration; rejects where its configuration cannot be used. */
  cloud(cluster: Cluster): Promise<Cloud>;
  /** The cluster's API server with the functions' identity; rejects where that cannot sign in. */
  api(cluster: Cluster): Promise<Transport>;
  now(): Date;
  /** Milliseconds of a clock that never steps; the process's own without it. */
  readonly monotonicMs?: () => number;
  /**
   * What operators have stopped for a cluster, not older than a few seconds; without it an event's own word counts alone. Never rejects:
   * where that cannot be read it is what was known last, and `unproven` at the least.
   */
  readonly stopOf?: (cluster: string) => Promise<Stop | undefined>;
  /** Nothing is logged without it. */
  readonly log?: Log;
  /** Nothing is traced without it. */
  readonly tracer?: FunctionTracer | undefined;
  /** What lets deletions that nothing proves, over all clusters of a fleet; without it each cluster's own brake alone holds. */
  readonly fleetBrake?: FleetBrake | undefined;
}
