import type { Cloud } from "#clouds/cloud.ts";
import type { Cluster } from "#config/cluster.ts";
import type { LoadBalancerModel } from "#core/service/model.ts";
import type { Ingress } from "#core/service/service.ts";
import type { ControlPlane, ControlPlaneUsers } from "#emulators/harness/control-plane.ts";
import type { Breakage } from "#test/clouds/conformance.ts";

/** A request that has arrived at the API of a cloud. */
export interface ArrivedRequest {
  /** The API's own name for it, such as `POST /v2/load_balancers`. */
  readonly what: string;
  /** Whether it changes something when it is carried out. */
  readonly isChange: boolean;
}

/**
 * The fate of a request before it is carried out: it passes, its connection breaks, or a failing API answers
 * it.
 */
export type Verdict = "pass" | "reset" | Breakage;

/**
 * Decides on each request to a cloud's API. With it a test kills a process, loses an answer, throttles a
 * request or counts requests.
 */
export interface Gate {
  enter(request: ArrivedRequest): Verdict;
  /** Called after the request was carried out. False breaks the connection in place of its answer. */
  leave(request: ArrivedRequest): boolean;
}

/** A node with an instance that the cloud knows. */
export interface WorldNode {
  readonly name: string;
  readonly providerID: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** The fields of a Service that the names of load balancers come from. */
export interface NamedService {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** How a Service differs from the default one, as a merge patch. */
export interface ServiceTraits {
  readonly annotations?: Readonly<Record<string, string | null>>;
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** A saved state. */
export interface WorldPoint {
  /** Goes back to it, any number of times until a return to an earlier one. */
  back(): Promise<void>;
}

/**
 * A cloud with load balancers for tests: a cluster's account that also holds similar resources of others.
 * These belong to the same Service of another cluster, or a person made them. Not every world has the
 * optional parts.
 */
export interface LoadBalancerWorld {
  /** The cluster's `cloud:` in its entry; its name is `tenant-a`. */
  readonly cloud: Readonly<Record<string, unknown>>;
  readonly model: LoadBalancerModel;
  /** Returns the cluster's cloud in a new process, whose waits take no time. The caller closes it. */
  connect(cluster: Cluster): Cloud;
  /** Another cluster in the same account: its name, and keys of its `cloud:`. */
  readonly otherCluster?: {
    readonly clusterName: string;
    readonly cloud?: Readonly<Record<string, unknown>>;
  };
  /**
   * Whether all data is in the cluster itself, so that an outline may be equal with and without a load
   * balancer.
   */
  readonly isInCluster?: true;
  /** At least four. The last one is not a node of the cluster. */
  readonly nodes: readonly WorldNode[];
  /**
   * Manifests of infra/ that a real API server of this cloud's clusters needs. Those of the service function
   * and of the provider's `ingress` are added.
   */
  readonly manifests?: readonly string[];
  /** The user of the function; default: `service`. */
  readonly signedInAs?: keyof ControlPlaneUsers;
  /** What Services need here, in addition to their ports, to get a load balancer. */
  readonly service?: ServiceTraits;
  /** Settings that are changed in place; undefined if the load balancer has none. */
  readonly otherSettings?: ServiceTraits;
  /** What gives a Service a load balancer that only the cluster's network reaches. */
  readonly internal?: ServiceTraits;
  /** Texts that no log line and no report may contain: the credentials of the cluster's cloud. */
  readonly secrets?: readonly string[];
  /** Services that are finally rejected before anything is made, with their code in the catalogue. */
  readonly refused: readonly (ServiceTraits & {
    readonly title: string;
    readonly code: string;
    /** Keys of the cluster's `cloud:` for it. */
    readonly cloud?: Readonly<Record<string, unknown>>;
  })[];
  /**
   * Returns the maximum number of requests for one question about so many Services that all have load
   * balancers.
   */
  requestsFor(services: number): number;
  /** From now on every request passes this gate; undefined removes the gate. */
  setGate(gate: Gate | undefined): void;
  /** Completes all work in progress in the cloud: creations exist, deletions are gone. */
  advance(): Promise<void>;
  /**
   * Returns everything in the account, ours or not: one sorted text for each resource. Two accounts have
   * equal outlines if they got the same resources in another order, at another time, or again after a loss.
   * IDs, addresses and values derived from a uid are replaced by names (`formatOutline` does it). It does not
   * pass the gate.
   */
  outline(services: readonly NamedService[]): Promise<readonly string[]>;
  /**
   * Returns the outline in smaller parts, for foreign resources that change in part with ours. It leaves out
   * what stays with the cluster after its last Service. Default: the outline.
   */
  readonly pieces?: () => Promise<readonly string[]>;
  /** Returns an address of a Service in the same notation; default: the kind of address. */
  readonly addressOf?: (ingress: Ingress, service: NamedService) => string;
  /** Saves the current state. */
  point(): Promise<WorldPoint>;
  /** Gives another owner's resource the name of this Service's future load balancer. */
  readonly takeName?: (service: NamedService) => Promise<void>;
  /** Called by a test that sends requests with invalid members: those that pass the capability. */
  readonly expectInvalidRequests?: () => void;
  /** Hides new resources from so many reads that would show them. */
  readonly hideNew?: (reads: number) => void;
  /** Whether a foreign resource of an outline changes in part with ours. */
  readonly isShared?: (thing: string) => boolean;
  close(): Promise<void>;
}

/** Creates a world. The API server of the cluster is for clouds that keep their data in it. */
export type BuildWorld<World extends LoadBalancerWorld = LoadBalancerWorld> = (
  plane: ControlPlane,
) => Promise<World>;
