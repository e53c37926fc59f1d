import { CLUSTER, type ClusterObject } from "#core/cluster-object.ts";
import type { Watch } from "#core/controller.ts";
import { exposedServices } from "#core/firewall/exposed-service.ts";
import { clusterTagOf } from "#core/service/tags/settings.ts";
import { serviceWatch } from "#core/service/watch.ts";

/** The tags of load balancers, as far as it watches: a cluster as a whole, now and then. */
export const tagsWatch: Watch<ClusterObject> = {
  ...CLUSTER,
  name: "service-lb-tags",
  aliases: [],
  onByDefault: false,
  beside: serviceWatch.name,
  functionName: serviceWatch.functionName,
  isFor: (settings) => clusterTagOf(settings) !== undefined,
  related: [exposedServices],
  looks: {
    // Load balancers are tagged when they are made: this is for those that were there before.
    fingerprint: () => "",
    everySeconds: 900,
  },
};
