import { CLUSTER, type ClusterObject } from "#core/cluster-object.ts";
import type { Watch } from "#core/controller.ts";
import { exposedServices } from "#core/firewall/exposed-service.ts";
import { formatClusterTag } from "#core/service/tags/settings.ts";
import { serviceWatch } from "#core/service/watch.ts";

/** The watch half of the tags controller: it checks a cluster as a whole at intervals. */
export const tagsWatch: Watch<ClusterObject> = {
  ...CLUSTER,
  name: "service-lb-tags",
  aliases: [],
  onByDefault: false,
  companionOf: serviceWatch.name,
  functionName: serviceWatch.functionName,
  isFor: (settings) => formatClusterTag(settings) !== undefined,
  related: [exposedServices],
  resyncPolicy: {
    // New load balancers are tagged at creation: this is for existing ones.
    fingerprint: () => "",
    everySeconds: 900,
  },
};
