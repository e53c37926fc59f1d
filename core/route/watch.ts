import { CLUSTER, type ClusterObject } from "#core/cluster-object.ts";
import type { Watch } from "#core/controller.ts";
import { routeNodes } from "#core/route/related-node.ts";

/** The node-route-controller, as far as it watches: a cluster as a whole, whenever its nodes change. */
export const routeWatch: Watch<ClusterObject> = {
  ...CLUSTER,
  name: "node-route-controller",
  aliases: ["route"],
  // Who runs the stock controller for it beside this one must not be surprised.
  onByDefault: false,
  functionName: "route",
  deletes: true,
  // Before a route is taken away nodes are counted or listed, which comes with a state alone.
  scope: "batch",
  related: [routeNodes],
  looks: {
    // Nothing on the namespace itself matters.
    fingerprint: () => "",
    everySeconds: ({ routes }) => routes.reconciliationSeconds,
    // One call each while nothing changes, of the twenty a second that EC2 gives an account.
    refreshesPerSecond: 1,
    whenRelatedChange: true,
  },
};
