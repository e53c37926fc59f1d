import type { Capability } from "#clouds/cloud.ts";

export type Tenant = "victim" | "evil";

/** Names of clusters and the values of their tags. */
export const TENANTS: readonly Tenant[] = ["victim", "evil"];

/** One cloud account that two clusters have their things in. */
export interface TenantAccount {
  /** What a cluster's function reaches, signed in as its own cluster. */
  capabilities(tenant: Tenant): Readonly<Record<string, Capability>>;
  /** Provider IDs of all machines; the first half are the victim's. */
  readonly providerIDs: readonly string[];
  /** Everything that is the victim's, one text for each thing: no hostile request may change any of it. */
  victims(): readonly string[];
  /** What of the hostile tenant's uses something of the victim's, such as its machines as targets. */
  trespasses(): readonly string[];
  /** Load balancers that a tenant has; none where the account has no load balancers. */
  countLoadBalancers(tenant: Tenant): number;
  /** What was refused to a tenant because the account's quotas were spent; nothing where they are not counted. */
  throttles?(tenant: Tenant): readonly string[];
  /** From now on no request waits for quotas. */
  liftQuotas?(): void;
}

/** The tag that says whose a resource is. */
export const tagOf = (tenant: Tenant): string => `kubernetes.io/cluster/${tenant}`;
