import { CLUSTER, type ClusterObject } from "#core/cluster-object.ts";
import { existingServices } from "#core/service/orphans/existing-services.ts";
import { serviceWatch } from "#core/service/watch.ts";
import type { Watch } from "#core/watch.ts";

/** The watch half of the orphan audit: it checks a cluster as a whole at intervals. */
export const orphanWatch: Watch<ClusterObject> = {
  ...CLUSTER,
  name: "service-lb-orphans",
  functionName: serviceWatch.functionName,
  enablement: { companionOf: serviceWatch.name },
  // The proof needs the number of Services, which the function reads only together with a shared state.
  scope: "batch",
  deletes: true,
  related: [existingServices],
  rechecks: {
    resync: {
      // The audit reads nothing of the namespace, and changes of Services can wait ten minutes.
      fingerprint: () => "",
      everySeconds: 600,
    },
  },
  metrics: {
    orphans: {
      metric: "serverless_ccm_orphaned_load_balancers",
      help: "Load balancers made for a Service that no longer exists, as the last audit found them.",
    },
  },
};
