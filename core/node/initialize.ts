import { buildClusterEvent } from "#core/cluster-events.ts";
import type { Decision } from "#core/decision.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { getDesiredAddresses, setAddresses, testAddressesUnchanged } from "#core/node/addresses.ts";
import { changeOr, leaveUnchanged, patchNode } from "#core/node/decisions.ts";
import { setInstanceAnnotation } from "#core/node/instance-annotation.ts";
import { retryAfterIssue, toIssue } from "#core/node/issues.ts";
import { buildInstanceLabels, type LabelContext } from "#core/node/labels.ts";
import type { Node } from "#core/node/node.ts";
import { testProvidedNodeIpUnchanged } from "#core/node/provided-node-ip.ts";
import { listProviderIdWarnings, setProviderId, testProviderIdUnchanged } from "#core/node/provider-id.ts";
import { removeUninitialized } from "#core/node/taints.ts";

/**
 * Initializes a node with the uninitialized taint. First it writes the addresses; then one patch writes
 * provider ID, labels and instance, and removes the taint. Any issue keeps the taint.
 */
export function initialize(
  node: Node,
  answer: InstanceAnswer,
  { now, labels: settings }: LabelContext,
): Decision {
  if (answer.kind !== "found") return retryAfterIssue(node, toIssue(answer), now);
  const { instance } = answer;
  const desired = getDesiredAddresses(node, instance);
  if (desired.kind === "issue") return retryAfterIssue(node, desired.issue, now);
  const labels = buildInstanceLabels(node, instance, settings);
  const addresses = setAddresses(node, desired.addresses);
  const sameInstance = { tests: [testProviderIdUnchanged(node)], operations: [] };
  return changeOr(
    node,
    [
      patchNode(node, [addresses, sameInstance], "status"),
      patchNode(node, [
        // The addresses just written are valid only for the annotation as read.
        { tests: [testProvidedNodeIpUnchanged(node)], operations: [] },
        // A kubelet with a stale read may have overwritten them since; removing the taint would then leave
        // the node without an address.
        { tests: [testAddressesUnchanged(node, addresses)], operations: [] },
        labels.edit,
        setProviderId(node, instance),
        setInstanceAnnotation(node, instance),
        removeUninitialized(node),
        sameInstance,
      ]),
    ],
    {
      because: { code: "Initialized", message: `initialized from instance ${instance.id}` },
      otherwise: leaveUnchanged(node),
      events: [buildClusterEvent("Synced", "Initialized", {})],
      warnings: [...listProviderIdWarnings(node, instance), ...labels.warnings],
    },
  );
}
