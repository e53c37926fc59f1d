import { FIELD_MANAGER, PROVIDED_NODE_IP_ANNOTATION } from "#core/contracts.ts";
import type { EventReason } from "#core/event.ts";
import { sortAddressesByType } from "#core/node/addresses.ts";
import { nodeDescriptor } from "#core/node/descriptor.ts";
import { hasLabelsToReconcile } from "#core/node/labels.ts";
import type { Node } from "#core/node/node.ts";
import { parseNode, projectWatchedNode } from "#core/node/snapshot.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { NODES } from "#core/resources/resource.ts";
import type { Watch } from "#core/watch.ts";

/**
 * The watch half of the cloud-node-controller: nodes that wait for their cloud, and drift on initialized
 * nodes.
 */
export const nodeWatch: Watch<Node> = {
  name: nodeDescriptor.name,
  functionName: nodeDescriptor.functionName,
  resource: NODES,
  scope: "object",
  enablement: nodeDescriptor.enablement,
  parse: parseNode,
  snapshot: projectWatchedNode,
  needsWork,
  related: [],
  rechecks: {
    resync: {
      fingerprint: fingerprintNode,
      // A kubelet can overwrite addresses from a read before the taint was removed.
      againSeconds: [20, 60],
    },
    findConflictingManager: findTaintManager,
  },
  metrics: {
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
  },
};

/**
 * Returns a text of the fields whose change by others justifies a check of the instance: node IP, provider
 * ID, addresses.
 */
export function fingerprintNode(node: Node): string {
  const nodeIP = node.metadata.annotations?.[PROVIDED_NODE_IP_ANNOTATION] ?? "";
  const addresses = sortAddressesByType(node.status.addresses ?? []).map(
    ({ type, address }) => `${type}=${address}`,
  );
  return [nodeIP, node.spec.providerID ?? "", ...addresses].join(" ");
}

/**
 * Returns the last writer of a node's taints by its `managedFields`, if it is not this one. `spec.taints` is
 * one atomic field, so its last writer owns all of it.
 */
function findTaintManager(object: unknown): string | undefined {
  const managed = getMember(getMember(object, "metadata"), "managedFields");
  if (!Array.isArray(managed)) return undefined;
  const writers = managed
    .filter((entry) => getMember(getMember(getMember(entry, "fieldsV1"), "f:spec"), "f:taints") !== undefined)
    .map((entry) => ({ manager: getMember(entry, "manager"), time: String(getMember(entry, "time") ?? "") }))
    .sort((a, b) => (a.time < b.time ? 1 : -1));
  for (const { manager } of writers) {
    if (typeof manager === "string" && manager !== FIELD_MANAGER) return manager;
  }
  return undefined;
}

function getMember(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

/** Returns whether a node needs work in its current state: the relay's predicate, level-triggered. */
export function needsWork(node: Node): boolean {
  return !isBeingDeleted(node) && (isUninitialized(node) || hasLabelsToReconcile(node));
}

/** Returns whether the decision on a node depends on the cloud's answer about its instance. */
export function needsInstance(node: Node, reason: EventReason): boolean {
  return !isBeingDeleted(node) && (isUninitialized(node) || RESYNC_REASONS[reason]);
}

/** Returns whether a node is being deleted; such a node is never written. */
export function isBeingDeleted(node: Node): boolean {
  return node.metadata.deletionTimestamp !== undefined;
}

/** Whether the reason of an event requires a check of the instances of initialized nodes too. */
const RESYNC_REASONS: Readonly<Record<EventReason, boolean>> = {
  watch: false,
  retry: false,
  monitor: false,
  refresh: true,
  sweep: true,
  replay: true,
};
