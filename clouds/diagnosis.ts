import type { Finding } from "#core/finding.ts";
import type { Service } from "#core/service/service.ts";

/** What a cloud can say of a cluster's configuration without a node, for people who look for what is wrong. Reads, and changes nothing. */
export interface Diagnosis {
  /** Whether the credentials are accepted where the configuration says, and whose they are, by a real call. */
  credentials(signal: AbortSignal): Promise<Finding>;
  /** Whether there is what tells the cluster's instances from others, such as its network, and whether it holds any. */
  network(signal: AbortSignal): Promise<Finding>;
  /** Milliseconds by which the cloud's clock is ahead of this machine's; undefined where it does not say. */
  clockAheadMs(signal: AbortSignal): Promise<number | undefined>;
  /** Whether the credentials may do what load balancers take, as far as that shows without a change; absent where it is not looked at. */
  permissions?(signal: AbortSignal): Promise<Finding>;
  /** What controllers beyond those of nodes need; absent where the cloud has none of them. */
  readonly forControllers?: NetworkDiagnosis;
  close(): void;
}

/** What load balancers and routes need of a network. */
export interface NetworkDiagnosis {
  /** Which subnets load balancers would be put in. */
  subnets(signal: AbortSignal): Promise<Finding>;
  /** Whether it can be told which security group of each instance is to let load balancers in. */
  securityGroups(signal: AbortSignal): Promise<Finding>;
  /** The tables that routes to pods would go to. */
  routeTables(signal: AbortSignal): Promise<Finding>;
  /** Whether what Services have and ask for is within what the account may have. */
  accountLimits(needs: LoadBalancerNeeds, signal: AbortSignal): Promise<Finding>;
}

/** What a cluster's load balancers are for. */
export interface LoadBalancerNeeds {
  /** Those that have a load balancer of ours, or ask for one. */
  readonly services: readonly Service[];
  readonly nodes: readonly { readonly providerID: string | undefined }[];
  /** The cluster's `loadBalancers.max`; nothing is said of it without. */
  readonly max?: number | undefined;
}
