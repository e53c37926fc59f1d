import type { Watch } from "#core/controller.ts";
import { fingerprintOf } from "#core/node/fingerprint.ts";
import { needsWork } from "#core/node/needs-work.ts";
import type { Node } from "#core/node/node.ts";
import { parseNode, snapshotOf } from "#core/node/snapshot.ts";
import { taintManagerOf } from "#core/node/taint-manager.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { NODES } from "#core/resources/resource.ts";

/** The cloud-node-controller, as far as it watches: nodes that wait for their cloud, and drift on those that do not. */
export const nodeWatch: Watch<Node> = {
  name: "cloud-node-controller",
  aliases: ["cloud-node"],
  onByDefault: true,
  functionName: "node",
  resource: NODES,
  scope: "object",
  parse: parseNode,
  snapshot: (node, { labelPrefixes, nodeKeys }) => snapshotOf(node, labelPrefixes, nodeKeys),
  needsWork,
  related: [],
  looks: {
    fingerprint: fingerprintOf,
    // A kubelet can overwrite addresses out of a read from before the taint went.
    againSeconds: [20, 60],
  },
  undoneBy: taintManagerOf,
  waiting: {
    metric: "serverless_ccm_tainted_nodes",
    help: "Nodes that carry the uninitialized taint, by the code of their last report and by age.",
    waits: isUninitialized,
  },
  // The stock controller's own names, so that existing dashboards find them.
  delays: [
    {
      metric: "node_controller_initial_node_sync_delay_seconds",
      help: "Seconds after a node's creation until all of its initialization was done.",
      waits: isUninitialized,
      counts: "first",
      until: "reported",
    },
    {
      metric: "node_controller_cloud_provider_taint_removal_delay_seconds",
      help: "Seconds after a node's creation, or its being tainted again, until its uninitialized taint was removed.",
      waits: isUninitialized,
      counts: "each",
      until: "shown",
    },
  ],
};
