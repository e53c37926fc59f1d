import type { ConfigurationFault } from "#cli/configuration-error.ts";
import { given, readSwitch } from "#cli/node-flags.ts";
import type { ClusterEntry } from "#config/cluster.ts";
import { LoadBalancerSettings } from "#core/settings.ts";
import { shown } from "#core/shown-text.ts";

/** The flags about load balancers of Services, as typed; a switch without a value is `true`. */
export interface LoadBalancerFlags {
  readonly deleteOrphanedLoadBalancers?: string | true | undefined;
  readonly loadBalancersMax?: string | undefined;
}

/** A cluster's `loadBalancers:` as it would stand in a clusters file that says no more. */
export type WrittenLoadBalancers = NonNullable<ClusterEntry["loadBalancers"]>;

/** Reads what the flags say, and nothing where they say nothing: a cluster's hash is of what is written. */
export function readLoadBalancerFlags(
  { deleteOrphanedLoadBalancers, loadBalancersMax }: LoadBalancerFlags,
  faults: ConfigurationFault[],
): WrittenLoadBalancers | undefined {
  const deleteOrphaned = readSwitch("--delete-orphaned-load-balancers", deleteOrphanedLoadBalancers, faults);
  const max = readMax(loadBalancersMax, faults);
  return given({ max, deleteOrphaned });
}

function readMax(text: string | undefined, faults: ConfigurationFault[]): number | undefined {
  if (text === undefined) return undefined;
  const max = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (LoadBalancerSettings.safeParse({ max }).success) return max;
  const message = `"${shown(text)}" cannot be used; give a number from 0 to 5000`;
  faults.push({ name: "--load-balancers-max", message });
  return undefined;
}
