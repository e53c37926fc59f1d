import { CLUSTER, type ClusterObject } from "#core/cluster-object.ts";
import type { Watch } from "#core/controller.ts";
import { exposedServices } from "#core/firewall/exposed-service.ts";
import { AUDIT_SECONDS, firewallSettingsOf } from "#core/firewall/settings.ts";
import { serviceWatch } from "#core/service/watch.ts";

/** The firewall of a cluster's nodes, as far as it watches: a cluster as a whole, whenever what its Services expose changes. */
export const firewallWatch: Watch<ClusterObject> = {
  ...CLUSTER,
  name: "firewall-controller",
  aliases: [],
  onByDefault: false,
  beside: serviceWatch.name,
  functionName: serviceWatch.functionName,
  isFor: (settings) => firewallSettingsOf(settings) !== undefined,
  // Whether all Services are known is told from how many there are, which is read with a state alone.
  scope: "batch",
  related: [exposedServices],
  looks: {
    // Nothing on the namespace itself matters.
    fingerprint: () => "",
    everySeconds: AUDIT_SECONDS,
    whenRelatedChange: true,
  },
};
