import { CLUSTER, type ClusterObject } from "#core/cluster-object.ts";
import { routeDescriptor } from "#core/route/descriptor.ts";
import { routeNodes } from "#core/route/related-node.ts";
import type { Watch } from "#core/watch.ts";

/** The watch half of the node-route-controller: a cluster as a whole, whenever its nodes change. */
export const routeWatch: Watch<ClusterObject> = {
  ...CLUSTER,
  name: routeDescriptor.name,
  functionName: routeDescriptor.functionName,
  enablement: routeDescriptor.enablement,
  deletes: true,
  // Nodes are counted or listed before a route is deleted, which is done only together with a state.
  scope: "batch",
  related: [routeNodes],
  rechecks: {
    resync: {
      // Nothing on the namespace matters.
      fingerprint: () => "",
      everySeconds: ({ routes }) => routes.reconciliationSeconds,
      // Each takes one call while nothing changes, of the twenty a second that EC2 allows an account.
      refreshesPerSecond: 1,
      whenRelatedChange: true,
    },
  },
};
