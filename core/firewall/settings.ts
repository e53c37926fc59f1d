import * as z from "zod";
import type { Settings } from "#core/settings.ts";

/** Seconds between two checks of a firewall without changes. */
export const AUDIT_SECONDS = 300;

/** The type of load balancers whose Service does not set one. */
const LoadBalancerType = z.enum(["REGIONAL", "REGIONAL_NETWORK"]);

/** The firewall settings in a cloud's configuration; absent for clouds without firewalls. */
const FirewallSettings = z.object({
  publicAccessFirewall: z.object({ name: z.string().min(1), tags: z.array(z.string().min(1)).min(1) }),
  defaultLoadBalancerType: LoadBalancerType.prefault("REGIONAL_NETWORK"),
});
export type FirewallSettings = z.output<typeof FirewallSettings>;

/** Parses the configuration of a cluster's firewall; undefined if it should have none. */
export function parseFirewallSettings({ cloud }: Pick<Settings, "cloud">): FirewallSettings | undefined {
  return FirewallSettings.safeParse(cloud).data;
}
