import type { Watch } from "#core/controller.ts";
import { fingerprintNode } from "#core/node/fingerprint.ts";
import { needsWork } from "#core/node/needs-work.ts";
import type { Node } from "#core/node/node.ts";
import { parseNode, projectNode } from "#core/node/snapshot.ts";
import { findTaintManager } from "#core/node/taint-manager.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { NODES } from "#core/resources/resource.ts";

/**
 * The watch half of the cloud-node-controller: nodes that wait for their cloud, and drift on initialized
 * nodes.
 */
export const nodeWatch: Watch<Node> = {
  name: "cloud-node-controller",
  aliases: ["cloud-node"],
  onByDefault: true,
  functionName: "node",
  resource: NODES,
  scope: "object",
  parse: parseNode,
  snapshot: (node, { labelPrefixes, nodeKeys }) => projectNode(node, labelPrefixes, nodeKeys),
  needsWork,
  related: [],
  resyncPolicy: {
    fingerprint: fingerprintNode,
    // A kubelet can overwrite addresses from a read before the taint was removed.
    againSeconds: [20, 60],
  },
  findConflictingManager: findTaintManager,
  waiting: {
    metric: "serverless_ccm_tainted_nodes",
    help: "Nodes that carry the uninitialized taint, by the code of their last report and by age.",
    isWaiting: isUninitialized,
  },
  // The stock controller's own metric names, so that existing dashboards find them.
  delays: [
    {
      metric: "node_controller_initial_node_sync_delay_seconds",
      help: "Seconds after a node's creation until all of its initialization was done.",
      isWaiting: isUninitialized,
      counts: "first",
      until: "reported",
    },
    {
      metric: "node_controller_cloud_provider_taint_removal_delay_seconds",
      help: "Seconds after a node's creation, or its being tainted again, until its uninitialized taint was removed.",
      isWaiting: isUninitialized,
      counts: "each",
      until: "shown",
    },
  ],
};
