import type { Decision } from "#core/decision.ts";
import type { Instance, InstanceAnswer } from "#core/instance.ts";
import { desiredAddresses, setAddresses } from "#core/node/addresses.ts";
import { changeOr, patchNode, skip, unchanged } from "#core/node/decisions.ts";
import { addInstanceAnnotation } from "#core/node/instance-annotation.ts";
import { reconcileLabels } from "#core/node/labels.ts";
import type { Node } from "#core/node/node.ts";
import { type Problem, problemOf, retryAfterProblem } from "#core/node/problems.ts";
import { providedNodeIpUnchanged } from "#core/node/provided-node-ip.ts";

/** Looks after an initialized node without the cloud: its labels alone. */
export function reconcile(node: Node, otherwise = unchanged(node)): Decision {
  const because = { code: "LabelsReconciled", message: "stable labels set to what the beta labels say" };
  return changeOr(node, [patchNode(node, [reconcileLabels(node)])], { because, otherwise });
}

/**
 * Looks after an initialized node with the cloud's answer: its labels, its addresses, and which instance it is where it
 * does not say yet. Addresses that cannot be told stay as they are.
 */
export function refresh(node: Node, answer: InstanceAnswer, now: Date): Decision {
  switch (answer.kind) {
    case "found":
      return refreshFrom(node, answer.instance);
    case "not-found":
    case "error":
      return withoutAnswer(node, problemOf(answer), now);
  }
}

function withoutAnswer(node: Node, problem: Problem, now: Date): Decision {
  switch (problem.code) {
    // Another provider's node, which somebody else has initialized: it is as it should be.
    case "ForeignProviderID":
    // A node names whatever instance it likes: one that is not there, is somebody else's or may not be seen is treated alike.
    case "InstanceNotFound":
    case "Foreign":
    case "Denied":
      return reconcile(node, skip(node, problem));
    default:
      return retryAfterProblem(node, problem, now);
  }
}

function refreshFrom(node: Node, instance: Instance): Decision {
  const desired = desiredAddresses(node, instance);
  const edits = desired.kind === "addresses" ? [setAddresses(node, desired.addresses)] : [];
  const guard = { tests: [providedNodeIpUnchanged(node)], operations: [] };
  return changeOr(
    node,
    [
      patchNode(node, [...edits, guard], "status"),
      patchNode(node, [reconcileLabels(node), addInstanceAnnotation(node, instance)]),
    ],
    {
      because: { code: "Refreshed", message: `brought in line with instance ${instance.id}` },
      otherwise: desired.kind === "problem" ? skip(node, desired.problem) : unchanged(node),
    },
  );
}
