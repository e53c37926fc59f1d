import * as z from "zod";
import { CLUSTER, type ClusterObject } from "#core/cluster-object.ts";
import { exposedServices } from "#core/digitalocean/exposed-service.ts";
import { serviceWatch } from "#core/service/watch.ts";
import type { Settings } from "#core/settings.ts";
import type { Watch } from "#core/watch.ts";

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

/**
 * The watch half of the firewall-controller: a cluster as a whole, whenever what its Services expose changes.
 */
export const firewallWatch: Watch<ClusterObject> = {
  ...CLUSTER,
  name: "firewall-controller",
  functionName: serviceWatch.functionName,
  enablement: {
    companionOf: serviceWatch.name,
    isFor: (settings) => parseFirewallSettings(settings) !== undefined,
  },
  // The proof that the list of Services is complete needs their number, which is read only together with a
  // state.
  scope: "batch",
  related: [exposedServices],
  rechecks: {
    resync: {
      // Nothing on the namespace matters.
      fingerprint: () => "",
      everySeconds: AUDIT_SECONDS,
      whenRelatedChange: true,
    },
  },
};

/** Parses the configuration of a cluster's firewall; undefined if it should have none. */
export function parseFirewallSettings({ cloud }: Pick<Settings, "cloud">): FirewallSettings | undefined {
  return FirewallSettings.safeParse(cloud).data;
}
