import type { ConfigurationFault } from "#cli/configuration-error.ts";
import { dropUndefined, readSwitch } from "#cli/node-flags.ts";
import type { ClusterEntry } from "#config/cluster.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { LoadBalancerSettings } from "#core/settings.ts";

/** The flags about load balancers of Services, as typed; a switch without a value is `true`. */
export interface LoadBalancerFlags {
  readonly deleteOrphanedLoadBalancers?: string | true | undefined;
  readonly loadBalancersMax?: string | undefined;
}

/** A cluster's `loadBalancers:` as a clusters file with the same settings has it. */
export type WrittenLoadBalancers = NonNullable<ClusterEntry["loadBalancers"]>;

/** Reads the given flags, and nothing for missing ones, because a cluster's hash covers what is written. */
export function readLoadBalancerFlags(
  { deleteOrphanedLoadBalancers, loadBalancersMax }: LoadBalancerFlags,
  faults: ConfigurationFault[],
): WrittenLoadBalancers | undefined {
  const deleteOrphaned = readSwitch("--delete-orphaned-load-balancers", deleteOrphanedLoadBalancers, faults);
  const max = readMax(loadBalancersMax, faults);
  return dropUndefined({ max, deleteOrphaned });
}

function readMax(text: string | undefined, faults: ConfigurationFault[]): number | undefined {
  if (text === undefined) return undefined;
  const max = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (LoadBalancerSettings.safeParse({ max }).success) return max;
  const message = `"${sanitizeText(text)}" cannot be used; give a number from 0 to 5000`;
  faults.push({ name: "--load-balancers-max", message });
  return undefined;
}
