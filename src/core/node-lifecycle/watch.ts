import type { Node } from "#core/node/node.ts";
import { parseNode, projectWatchedNode } from "#core/node/snapshot.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { nodeLifecycleDescriptor } from "#core/node-lifecycle/descriptor.ts";
import { findReadyCondition, isObservedBefore, isReady, needsWork } from "#core/node-lifecycle/needs-work.ts";
import { NODES } from "#core/resources/resource.ts";
import type { Watch } from "#core/watch.ts";

/**
 * The watch half of the cloud-node-lifecycle-controller: nodes that are not Ready, and taints without a
 * reason.
 */
export const nodeLifecycleWatch: Watch<Node> = {
  name: nodeLifecycleDescriptor.name,
  functionName: nodeLifecycleDescriptor.functionName,
  resource: NODES,
  scope: "batch",
  enablement: nodeLifecycleDescriptor.enablement,
  deletes: true,
  parse: parseNode,
  snapshot: projectWatchedNode,
  needsWork: (node, { settings }) => needsWork(node, settings.nodes),
  rechecks: {
    monitor: {
      afterSeconds: (node, { settings }) => (isReady(node) ? 0 : settings.nodes.monitorSeconds),
      fingerprint(node) {
        const { status, lastTransitionTime } = findReadyCondition(node) ?? {};
        return [status, lastTransitionTime, node.spec.providerID].join(" ");
      },
    },
  },
  related: [],
  metrics: {
    waiting: {
      metric: "serverless_ccm_unready_nodes",
      help: "Nodes that are initialized or whose instance was seen, and are not Ready, by the code of their last report and by age.",
      // The others are new, and wait for the node controller.
      isWaiting: (node) => !isReady(node) && (isObservedBefore(node) || !isUninitialized(node)),
      since: (node) => findReadyCondition(node)?.lastTransitionTime,
    },
  },
};
