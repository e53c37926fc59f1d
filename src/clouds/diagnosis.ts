import type { CheckResult } from "#core/check-result.ts";
import type { Service } from "#core/service/service.ts";

/** Checks of a cluster's configuration against the cloud, without a node. They read and change nothing. */
export interface Diagnosis {
  /** Checks with a real call whether the credentials are accepted, and to whom they belong. */
  credentials(signal: AbortSignal): Promise<CheckResult>;
  /**
   * Checks whether the criterion for the cluster's instances, such as its network, exists and matches any.
   */
  network(signal: AbortSignal): Promise<CheckResult>;
  /**
   * Milliseconds by which the cloud's clock is ahead of this machine's; undefined if the cloud does not
   * provide its time.
   */
  clockAheadMs(signal: AbortSignal): Promise<number | undefined>;
  /**
   * Checks the permissions for load balancers, as far as that is possible without a change; absent if
   * unsupported.
   */
  permissions?(signal: AbortSignal): Promise<CheckResult>;
  /** Checks for controllers other than those of nodes; absent if the cloud has none of them. */
  readonly forControllers?: NetworkDiagnosis;
  close(): void;
}

/** Checks of what load balancers and routes need of a network. */
export interface NetworkDiagnosis {
  /** Reports the subnets that load balancers would use. */
  subnets(signal: AbortSignal): Promise<CheckResult>;
  /** Checks whether the security group that must allow load balancers is known for each instance. */
  securityGroups(signal: AbortSignal): Promise<CheckResult>;
  /** Reports the route tables for pod routes. */
  routeTables(signal: AbortSignal): Promise<CheckResult>;
  /** Checks whether existing and requested resources of Services fit the account's limits. */
  accountLimits(needs: LoadBalancerNeeds, signal: AbortSignal): Promise<CheckResult>;
}

/** The needs of a cluster's load balancers. */
export interface LoadBalancerNeeds {
  /** Services that have a load balancer of ours or request one. */
  readonly services: readonly Service[];
  readonly nodes: readonly { readonly providerID: string | undefined }[];
  /** The cluster's `loadBalancers.max`; without it this limit is not checked. */
  readonly max?: number | undefined;
}

/**
 * Description of a cloud's resources for one Service, for people: their owner by their own tags, and a line
 * for each part.
 */
export interface DescribedLoadBalancer {
  /** `none`: nothing exists; `other`: a resource of that name belongs to another owner. */
  readonly belongsTo: "none" | "service" | "other";
  /** Contains tenants' text; the caller truncates it. */
  readonly lines: readonly string[];
}
