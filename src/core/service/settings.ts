import * as z from "zod";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { type ControllerFlags, dropUndefined, getText, readSwitch } from "#core/flags.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/** The load balancer settings of a cluster. */
export const LoadBalancerSettings = z.strictObject({
  /**
   * The maximum number of Services with a load balancer; others wait, with a Warning. By default 100, and for
   * each kind at most the cluster's share of the account's quota.
   */
  max: z.int().min(0).max(5_000).optional(),
  /** The maximum number of ports of all load balancers together; by default `limitListeners`. */
  maxPorts: z.int().min(0).max(250_000).optional(),
  /**
   * The sweep deletes our load balancers whose Service is gone, after proof; by default they are only
   * reported.
   */
  deleteOrphaned: z.boolean().prefault(false),
});
export type LoadBalancerSettings = z.output<typeof LoadBalancerSettings>;

/** The settings that limit load balancers. */
export type LoadBalancerLimits = Pick<LoadBalancerSettings, "max" | "maxPorts">;

/** The default of `max`: after an upgrade, no cluster may have more than before. */
const DEFAULT_MAX_LOAD_BALANCERS = 100;
/** The number of ports for each allowed load balancer. */
const PORTS_PER_LOAD_BALANCER = 10;
/** The minimum number of ports: as many as one network load balancer may have on AWS. */
const LEAST_PORTS = 50;

/** Returns the maximum number of load balancers in a cluster. */
export function limitLoadBalancers({ max }: LoadBalancerLimits): number {
  return max ?? DEFAULT_MAX_LOAD_BALANCERS;
}

/** Returns the maximum number of ports that the load balancers of a cluster may have together. */
export function limitListeners(settings: LoadBalancerLimits): number {
  return settings.maxPorts ?? Math.max(LEAST_PORTS, PORTS_PER_LOAD_BALANCER * limitLoadBalancers(settings));
}

/** The flags about load balancers of Services. */
export const serviceFlags: ControllerFlags = {
  key: "loadBalancers",
  flags: [
    {
      option: "--delete-orphaned-load-balancers [boolean]",
      help: "whether load balancers without a Service are deleted (default: false)",
      sets: "loadBalancers.deleteOrphaned",
    },
    {
      option: "--load-balancers-max <number>",
      help: "Services of the cluster that get a load balancer (default: 100)",
      sets: "loadBalancers.max",
    },
  ],
  read(typed, { faults }) {
    const orphaned = typed["deleteOrphanedLoadBalancers"];
    const deleteOrphaned = readSwitch("--delete-orphaned-load-balancers", orphaned, faults);
    const max = readMax(getText(typed, "loadBalancersMax"), faults);
    return dropUndefined({ max, deleteOrphaned });
  },
};

function readMax(text: string | undefined, faults: ConfigurationFault[]): number | undefined {
  if (text === undefined) return undefined;
  const max = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (LoadBalancerSettings.safeParse({ max }).success) return max;
  const message = `"${sanitizeText(text)}" cannot be used; give a number from 0 to 5000`;
  faults.push({ name: "--load-balancers-max", message });
  return undefined;
}
