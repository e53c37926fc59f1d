import { NODE_LIFECYCLE_EVENT_SOURCE } from "#core/contracts.ts";
import type { Watch } from "#core/controller.ts";
import type { Node } from "#core/node/node.ts";
import { parseNode, snapshotOf } from "#core/node/snapshot.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { isReady, needsWork, readyCondition, wasSeen } from "#core/node-lifecycle/needs-work.ts";
import { NODES } from "#core/resources/resource.ts";

/** The cloud-node-lifecycle-controller, as far as it watches: nodes that are not Ready, and marks that outlive their reason. */
export const nodeLifecycleWatch: Watch<Node> = {
  name: NODE_LIFECYCLE_EVENT_SOURCE,
  aliases: ["cloud-node-lifecycle"],
  onByDefault: true,
  functionName: "node-lifecycle",
  resource: NODES,
  scope: "batch",
  deletes: true,
  parse: parseNode,
  snapshot: (node, { labelPrefixes, nodeKeys }) => snapshotOf(node, labelPrefixes, nodeKeys),
  needsWork: (node, { settings }) => needsWork(node, settings.nodes),
  monitors: {
    afterSeconds: (node, { settings }) => (isReady(node) ? 0 : settings.nodes.monitorSeconds),
    fingerprint(node) {
      const { status, lastTransitionTime } = readyCondition(node) ?? {};
      return [status, lastTransitionTime, node.spec.providerID].join(" ");
    },
  },
  related: [],
  waiting: {
    metric: "serverless_ccm_unready_nodes",
    help: "Nodes that are initialized or whose instance was seen, and are not Ready, by the code of their last report and by age.",
    // The others are new, and wait for the node controller.
    waits: (node) => !isReady(node) && (wasSeen(node) || !isUninitialized(node)),
    since: (node) => readyCondition(node)?.lastTransitionTime,
  },
};
