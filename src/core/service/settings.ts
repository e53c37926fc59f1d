import * as z from "zod";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { type ControllerFlags, dropUndefined, getText, readSwitch } from "#core/flags.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/** The load balancer settings of a cluster. */
export const LoadBalancerSettings = z.strictObject({
  /**
   * The maximum number of Services with a load balancer; others wait, with a Warning. By default 100, and for each
   * type of load balancer (network, classic) at most the cluster's share of the account's quota.
   */
  max: z.int().min(0).max(5_000).optional(),
  /**
   * The maximum number of ports of all load balancers together; by default ten for each allowed load balancer, and at
   * least 50.
   */
  maxPorts: z.int().min(0).max(250_000).optional(),
  /**
   * Whether audits delete load balancers whose Service is gone, after proof; by default they only report them.
   */
  deleteOrphaned: z.boolean().prefault(false),
});
export type LoadBalancerSettings = z.output<typeof LoadBalancerSettings>;

/** The settings that limit load balancers. */
export type LoadBalancerLimits = Pick<LoadBalancerSettings, "max" | "maxPorts">;

/** The default of `max`. It was 100 before the account's quota counted, and an upgrade must not raise it. */
const DEFAULT_MAX_LOAD_BALANCERS = 100;
/** The number of ports for each allowed load balancer. */
const PORTS_PER_LOAD_BALANCER = 10;
/** The minimum number of ports: as many as one network load balancer may have on AWS. */
const MIN_PORTS = 50;

/** Returns the configured or default maximum of load balancers. The share of the account's quota may be lower. */
export function getMaxLoadBalancers({ max }: LoadBalancerLimits): number {
  return max ?? DEFAULT_MAX_LOAD_BALANCERS;
}

/**
 * Returns the configured or default maximum of ports that the load balancers of a cluster may have together. The share
 * of the account's quota may be lower.
 */
export function getMaxPorts(settings: LoadBalancerLimits): number {
  return settings.maxPorts ?? Math.max(MIN_PORTS, PORTS_PER_LOAD_BALANCER * getMaxLoadBalancers(settings));
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
      help: "maximum of Services with a load balancer in the cluster (default: 100)",
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
  const message = `"${sanitizeText(text)}" is not a whole number from 0 to 5000`;
  faults.push({ name: "--load-balancers-max", message });
  return undefined;
}
