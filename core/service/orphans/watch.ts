import { CLUSTER, type ClusterObject } from "#core/cluster-object.ts";
import type { Watch } from "#core/controller.ts";
import { livingServices } from "#core/service/orphans/living-services.ts";
import { serviceWatch } from "#core/service/watch.ts";

/** The audit of load balancers whose Service has gone, as far as it watches: a cluster as a whole, now and then. */
export const orphanWatch: Watch<ClusterObject> = {
  ...CLUSTER,
  name: "service-lb-orphans",
  aliases: [],
  onByDefault: false,
  beside: serviceWatch.name,
  functionName: serviceWatch.functionName,
  // What is gone is told from the number of Services there are, which is read with a state alone.
  scope: "batch",
  deletes: true,
  related: [livingServices],
  looks: {
    // Nothing on the namespace itself matters, and Services that come and go are none of its business for ten minutes.
    fingerprint: () => "",
    everySeconds: 600,
  },
  orphans: {
    metric: "serverless_ccm_orphaned_load_balancers",
    help: "Load balancers made for a Service that is no more, as the last audit found them.",
  },
};
