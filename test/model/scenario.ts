import type { Cluster } from "#config/cluster.ts";
import type { Controller } from "#core/controller.ts";
import type { ControlPlaneUsers } from "#emulators/harness/control-plane.ts";
import type { Clock } from "#kube/follow/clock.ts";
import type { ModelCloud } from "./cloud.ts";
import type { ClusterView, ModelCluster } from "./cluster.ts";
import type { Kind } from "./history.ts";

/** One controller on one cloud, and what happens to it. */
export interface Scenario {
  readonly name: string;
  readonly controller: Controller;
  /** The controller of the single fresh actor; the same without it. */
  readonly referenceController?: Controller;
  readonly cluster: Cluster;
  readonly signedInAs: keyof ControlPlaneUsers;
  /** The folder of `infra/` with the function's rights. */
  readonly manifests: string;
  /** How often each kind of happening comes. */
  readonly weights: Readonly<Partial<Record<Kind, number>>>;
  /** A cloud with nothing of the cluster in it. The one before it is not used any more. */
  readonly createCloud: () => ModelCloud | Promise<ModelCloud>;
  /** The API server of histories; the embedded one without it. A single fresh actor always has that. */
  readonly createCluster?: (clock: Clock) => Promise<ModelCluster>;
  /** Whether a node is there from the beginning to the end, on a machine of its own. */
  readonly hasLastingNode?: true;
  /** The part of the account's quotas that its events bring; all of them without it. */
  readonly share?: number;
  /** Whether only an audit finds what an actor did that was at work when the node of a machine came back. */
  readonly auditFindsLate?: true;
  /** Annotations that each Service has, such as the type of its load balancer. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** What of the objects has to be as a single fresh actor leaves it, sorted. */
  describe(view: ClusterView, cloud: ModelCloud): readonly string[];
}
