import { tell } from "#core/cluster-events.ts";
import type { Decision } from "#core/decision.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { addressesKept, desiredAddresses, setAddresses } from "#core/node/addresses.ts";
import { changeOr, patchNode, unchanged } from "#core/node/decisions.ts";
import { setInstanceAnnotation } from "#core/node/instance-annotation.ts";
import { type LabelContext, labelsFromInstance } from "#core/node/labels.ts";
import type { Node } from "#core/node/node.ts";
import { problemOf, retryAfterProblem } from "#core/node/problems.ts";
import { providedNodeIpUnchanged } from "#core/node/provided-node-ip.ts";
import { providerIdUnchanged, setProviderId, warningsOfProviderId } from "#core/node/provider-id.ts";
import { removeUninitialized } from "#core/node/taints.ts";

/**
 * Initializes a node that carries the uninitialized taint: its addresses first, then in one patch its provider ID,
 * labels and instance, and the taint away. Any problem leaves the taint where it is.
 */
export function initialize(
  node: Node,
  answer: InstanceAnswer,
  { now, labels: settings }: LabelContext,
): Decision {
  if (answer.kind !== "found") return retryAfterProblem(node, problemOf(answer), now);
  const { instance } = answer;
  const desired = desiredAddresses(node, instance);
  if (desired.kind === "problem") return retryAfterProblem(node, desired.problem, now);
  const labels = labelsFromInstance(node, instance, settings);
  const addresses = setAddresses(node, desired.addresses);
  const sameInstance = { tests: [providerIdUnchanged(node)], operations: [] };
  return changeOr(
    node,
    [
      patchNode(node, [addresses, sameInstance], "status"),
      patchNode(node, [
        // The addresses just written hold only for the annotation as it was read.
        { tests: [providedNodeIpUnchanged(node)], operations: [] },
        // A kubelet may have overwritten them since, from a stale read; the taint would leave the node naked.
        { tests: [addressesKept(node, addresses)], operations: [] },
        labels.edit,
        setProviderId(node, instance),
        setInstanceAnnotation(node, instance),
        removeUninitialized(node),
        sameInstance,
      ]),
    ],
    {
      because: { code: "Initialized", message: `initialized from instance ${instance.id}` },
      otherwise: unchanged(node),
      events: [tell("Synced", "Initialized", {})],
      warnings: [...warningsOfProviderId(node, instance), ...labels.warnings],
    },
  );
}
