import type { Cloud } from "#clouds/cloud.ts";
import type { Cluster } from "#config/cluster.ts";
import type { LoadBalancerModel } from "#core/service/model.ts";
import type { Ingress } from "#core/service/service.ts";
import type { ControlPlane, ControlPlaneUsers } from "#emulators/harness/control-plane.ts";
import type { Breakage } from "#test/clouds/conformance.ts";

/** A request that has arrived at the API of a cloud. */
export interface ArrivedRequest {
  /** The API's own name of it, such as `POST /v2/load_balancers`. */
  readonly what: string;
  /** Whether it changes something where it is carried out. */
  readonly isChange: boolean;
}

/** What becomes of a request before it is carried out: it passes, its connection is broken, or it is answered by an API in trouble. */
export type Verdict = "pass" | "reset" | Breakage;

/**
 * Stands at the door of a cloud's API and decides over each request: a process is killed, an answer is lost, a request is throttled
 * by whoever stands there, and requests are counted.
 */
export interface Gate {
  enter(request: ArrivedRequest): Verdict;
  /** The request was carried out. False breaks the connection in place of its answer. */
  leave(request: ArrivedRequest): boolean;
}

/** A node whose instance the cloud knows. */
export interface WorldNode {
  readonly name: string;
  readonly providerID: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A Service by what the names of load balancers are made of. */
export interface NamedService {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** What makes a Service another one than the plain one, as it would be merged into it. */
export interface ServiceTraits {
  readonly annotations?: Readonly<Record<string, string | null>>;
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** What there was at one time. */
export interface WorldPoint {
  /** Back to it, as often as one likes, until one goes back to an earlier one. */
  back(): Promise<void>;
}

/**
 * A cloud with load balancers as tests play on it: the account of a cluster and, beside it, things of others that look as much like
 * ours as they can (the same Service of another cluster, something that a person has made). What is optional is not in every world's
 * power.
 */
export interface LoadBalancerWorld {
  /** The cluster's `cloud:`, as an entry of clusters has it; its name is `tenant-a`. */
  readonly cloud: Readonly<Record<string, unknown>>;
  readonly model: LoadBalancerModel;
  /** The cluster's cloud as a new process has it, whose waits take no time. Whoever asks for it closes it. */
  connect(cluster: Cluster): Cloud;
  /** Another cluster in the same account: its name, and keys of its `cloud:`. */
  readonly otherCluster?: {
    readonly clusterName: string;
    readonly cloud?: Readonly<Record<string, unknown>>;
  };
  /** Whether all it has is in the cluster itself, so that an outline may be the same with a load balancer and without. */
  readonly isInCluster?: true;
  /** At least four. The last one is no node of the cluster, if anybody's. */
  readonly nodes: readonly WorldNode[];
  /** What of infra/ a real API server of a cluster on this cloud gets beside what the service function has on each. */
  readonly manifests?: readonly string[];
  /** Who the function signs in as; `service` without it. */
  readonly signedInAs?: keyof ControlPlaneUsers;
  /** What Services need here beyond their ports to get a load balancer. */
  readonly service?: ServiceTraits;
  /** Settings of a load balancer that are changed in place; none where there are none. */
  readonly otherSettings?: ServiceTraits;
  /** What has a Service get a load balancer that the cluster's network alone reaches. */
  readonly internal?: ServiceTraits;
  /** Texts that no log line and no report may hold: what the cluster's cloud is signed in with. */
  readonly secrets?: readonly string[];
  /** Services that are refused for good before anything is made, with the code that the catalogue has for it. */
  readonly refused: readonly (ServiceTraits & {
    readonly title: string;
    readonly code: string;
    /** Keys of the cluster's `cloud:` for it. */
    readonly cloud?: Readonly<Record<string, unknown>>;
  })[];
  /** Requests that one question about so many Services may take at the most, if there are load balancers of all of them. */
  requestsFor(services: number): number;
  /** From now on everything that arrives passes this gate; none without it. */
  setGate(gate: Gate | undefined): void;
  /** All in the cloud that is under way comes to its end: what was ordered is there, what was deleted is gone. */
  advance(): Promise<void>;
  /**
   * Everything in the account, ours or not, one text for each thing, sorted: equal for two accounts in which the same was made in
   * another order, at another time, or once more after it was lost. Ids, addresses and whatever follows from a uid are replaced by what they stand for
   * (`outlineOf` does it). It passes no gate.
   */
  outline(services: readonly NamedService[]): Promise<readonly string[]>;
  /**
   * The same in smaller pieces, where a thing of others changes in part with what is ours; what is the cluster's and stays when its last
   * Service goes is left out. The outline without it.
   */
  readonly pieces?: () => Promise<readonly string[]>;
  /** An address of a Service in the same way; what kind of address it is without it. */
  readonly addressOf?: (ingress: Ingress, service: NamedService) => string;
  /** What there is now, to go back to. */
  point(): Promise<WorldPoint>;
  /** Something of somebody else takes a name that the load balancer of this Service, which has none yet, is to have. */
  readonly takeName?: (service: NamedService) => Promise<void>;
  /** What is made from now on is invisible to so many reads that would show it. */
  readonly hideNew?: (reads: number) => void;
  /** Whether a thing of an outline, which is not ours, changes in part with what is ours. */
  readonly isShared?: (thing: string) => boolean;
  close(): Promise<void>;
}

/** Makes a world. The cluster's API server is for clouds that keep what they have in the cluster itself. */
export type BuildWorld<World extends LoadBalancerWorld = LoadBalancerWorld> = (
  plane: ControlPlane,
) => Promise<World>;
