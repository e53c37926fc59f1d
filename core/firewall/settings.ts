import * as z from "zod";
import type { Settings } from "#core/settings.ts";

/** Seconds between two looks at a firewall that nothing has changed for. */
export const AUDIT_SECONDS = 300;

/** What load balancers are where a Service does not say. */
const LoadBalancerType = z.enum(["REGIONAL", "REGIONAL_NETWORK"]);

/** What of a cloud's configuration the firewall depends on; of a cloud that has none there is none to be read. */
const FirewallSettings = z.object({
  publicAccessFirewall: z.object({ name: z.string().min(1), tags: z.array(z.string().min(1)).min(1) }),
  defaultLoadBalancerType: LoadBalancerType.prefault("REGIONAL_NETWORK"),
});
export type FirewallSettings = z.output<typeof FirewallSettings>;

/** How the cluster's firewall is configured; undefined where it is to have none. */
export function firewallSettingsOf({ cloud }: Pick<Settings, "cloud">): FirewallSettings | undefined {
  return FirewallSettings.safeParse(cloud).data;
}
