import type { Capability } from "#clouds/cloud.ts";

export type Tenant = "victim" | "evil";

/** The names of the clusters, and the values of their tags. */
export const TENANTS: readonly Tenant[] = ["victim", "evil"];

/** One cloud account with the resources of two clusters. */
export interface TenantAccount {
  /** Returns what a cluster's function reaches, signed in as its own cluster. */
  capabilities(tenant: Tenant): Readonly<Record<string, Capability>>;
  /** The provider IDs of all machines; the first half are the victim's. */
  readonly providerIDs: readonly string[];
  /** Returns the victim's resources, one text each. No hostile request may change any of them. */
  victims(): readonly string[];
  /** Returns the hostile tenant's resources that use one of the victim's, such as its machines as targets. */
  trespasses(): readonly string[];
  /** Returns the number of a tenant's load balancers; 0 if the account has no load balancers. */
  countLoadBalancers(tenant: Tenant): number;
  /**
   * Returns the requests of a tenant that were rejected because the account's quotas were spent; empty if
   * they are not counted.
   */
  throttles?(tenant: Tenant): readonly string[];
  /** Ends all waiting for quotas. */
  liftQuotas?(): void;
}

/** Returns the tag key that marks a resource as the tenant's. */
export const getOwnerTag = (tenant: Tenant): string => `kubernetes.io/cluster/${tenant}`;
