import type { Cluster } from "#config/cluster.ts";
import type { Controller } from "#core/controller.ts";
import type { ControlPlaneUsers } from "#emulators/harness/control-plane.ts";
import type { Clock } from "#kube/follow/clock.ts";
import type { ModelCloud } from "./cloud.ts";
import type { ClusterView, ModelCluster } from "./cluster.ts";
import type { Kind } from "./history.ts";

/** One controller on one cloud, and the events of its histories. */
export interface Scenario {
  readonly name: string;
  readonly controller: Controller;
  /** The controller of the single fresh actor; by default the scenario's own. */
  readonly referenceController?: Controller;
  readonly cluster: Cluster;
  readonly signedInAs: keyof ControlPlaneUsers;
  /** The folder of `infra/` with the function's rights. */
  readonly manifests: string;
  /** The frequency of each kind of event. */
  readonly weights: Readonly<Partial<Record<Kind, number>>>;
  /** Creates a cloud without resources of the cluster. The previous one must not be used any more. */
  readonly createCloud: () => ModelCloud | Promise<ModelCloud>;
  /**
   * Creates the API server of the histories; by default the embedded one. A single fresh actor always uses
   * the embedded one.
   */
  readonly createCluster?: (clock: Clock) => Promise<ModelCluster>;
  /** Whether one node exists from start to end, on its own machine. */
  readonly hasLastingNode?: true;
  /** The share of the account's quotas in its events; by default all. */
  readonly share?: number;
  /** Whether only an audit finds the writes of an actor that was running when a machine's node returned. */
  readonly auditFindsLate?: true;
  /** Annotations of each Service, such as the type of its load balancer. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Returns the parts of the objects that must equal those of a single fresh actor, sorted. */
  describe(view: ClusterView, cloud: ModelCloud): readonly string[];
}
