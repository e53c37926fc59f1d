import { CLUSTER, type ClusterObject } from "#core/cluster-object.ts";
import type { Watch } from "#core/controller.ts";
import { exposedServices } from "#core/firewall/exposed-service.ts";
import { AUDIT_SECONDS, parseFirewallSettings } from "#core/firewall/settings.ts";
import { serviceWatch } from "#core/service/watch.ts";

/**
 * The watch half of the firewall-controller: a cluster as a whole, whenever what its Services expose changes.
 */
export const firewallWatch: Watch<ClusterObject> = {
  ...CLUSTER,
  name: "firewall-controller",
  aliases: [],
  onByDefault: false,
  companionOf: serviceWatch.name,
  functionName: serviceWatch.functionName,
  isFor: (settings) => parseFirewallSettings(settings) !== undefined,
  // The proof that the list of Services is complete needs their number, which is read only together with a
  // state.
  scope: "batch",
  related: [exposedServices],
  resyncPolicy: {
    // Nothing on the namespace matters.
    fingerprint: () => "",
    everySeconds: AUDIT_SECONDS,
    whenRelatedChange: true,
  },
};
