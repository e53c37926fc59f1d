import type { ConfigurationFault } from "#cli/configuration-error.ts";
import { given, readSwitch } from "#cli/node-flags.ts";
import type { ClusterEntry } from "#config/cluster.ts";

/** The flags about load balancers of Services, as typed; a switch without a value is `true`. */
export interface LoadBalancerFlags {
  readonly deleteOrphanedLoadBalancers?: string | true | undefined;
}

/** A cluster's `loadBalancers:` as it would stand in a clusters file that says no more. */
export type WrittenLoadBalancers = NonNullable<ClusterEntry["loadBalancers"]>;

/** Reads what the flags say, and nothing where they say nothing: a cluster's hash is of what is written. */
export function readLoadBalancerFlags(
  { deleteOrphanedLoadBalancers }: LoadBalancerFlags,
  faults: ConfigurationFault[],
): WrittenLoadBalancers | undefined {
  const deleteOrphaned = readSwitch("--delete-orphaned-load-balancers", deleteOrphanedLoadBalancers, faults);
  return given({ deleteOrphaned });
}
