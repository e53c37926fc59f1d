import { tell } from "#core/cluster-events.ts";
import type { Decision } from "#core/decision.ts";
import type { Instance, InstanceAnswer } from "#core/instance.ts";
import { desiredAddresses, setAddresses } from "#core/node/addresses.ts";
import { changeOr, patchNode, retry, skip, unchanged } from "#core/node/decisions.ts";
import { addInstanceAnnotation } from "#core/node/instance-annotation.ts";
import { type LabelContext, labelsKept, reconcileLabels } from "#core/node/labels.ts";
import type { Node } from "#core/node/node.ts";
import { type Problem, problemOf, retryAfterProblem } from "#core/node/problems.ts";
import { providedNodeIpUnchanged } from "#core/node/provided-node-ip.ts";
import { providerIdUnchanged } from "#core/node/provider-id.ts";
import type { LabelSettings } from "#core/settings.ts";
import { providerIDOf, successorIn } from "#core/tenant-fact.ts";

/** Looks after an initialized node without the cloud: its labels alone. */
export function reconcile(node: Node, otherwise = unchanged(node)): Decision {
  const because = { code: "LabelsReconciled", message: "stable labels set to what the beta labels say" };
  return changeOr(node, [patchNode(node, [reconcileLabels(node)])], { because, otherwise });
}

/**
 * Looks after an initialized node with the cloud's answer: its labels, its addresses, and which instance it is where it
 * does not say yet. Addresses that cannot be told stay as they are, and so do those of a node whose name is another instance's
 * by now: they are not the node's any more, and the other one's own node is what should have them.
 */
export function refresh(node: Node, answer: InstanceAnswer, { now, labels }: LabelContext): Decision {
  switch (answer.kind) {
    case "found":
      return ofReplaced(node, answer, refreshFrom(node, answer.instance, labels));
    case "not-found":
      return ofReplaced(node, answer, withoutAnswer(node, problemOf(answer), now));
    case "error":
      return withoutAnswer(node, problemOf(answer), now);
  }
}

/** Adds the Warning that names both instances, where another one has taken over. */
function ofReplaced(
  node: Node,
  answer: Exclude<InstanceAnswer, { readonly kind: "error" }>,
  decision: Decision,
): Decision {
  const successor = successorIn(answer);
  if (successor === undefined) return decision;
  const event = tell("InstanceReplaced", "InstanceReplaced", { providerID: providerIDOf(node), successor });
  if (decision.kind === "change") return { ...decision, events: [...decision.events, event] };
  const message = `its instance is gone, and ${successor} has its name by now`;
  return retry(node, { code: "InstanceReplaced", message }, REPLACED_SECONDS, [event]);
}

/** Somebody has to delete the node; until then it is said once in so many seconds. */
const REPLACED_SECONDS = 600;

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

function refreshFrom(node: Node, instance: Instance, settings: LabelSettings): Decision {
  const desired = desiredAddresses(node, instance);
  const edits = desired.kind === "addresses" ? [setAddresses(node, desired.addresses)] : [];
  // Of an instance that has ended the cloud has nothing to say any more.
  const hasEnded = desired.kind === "problem" && desired.problem.code === "InstanceTerminated";
  const labels = hasEnded
    ? { edit: reconcileLabels(node), warnings: [] }
    : labelsKept(node, instance, settings);
  const sameInstance = { tests: [providerIdUnchanged(node)], operations: [] };
  const guard = { tests: [providedNodeIpUnchanged(node)], operations: [] };
  return changeOr(
    node,
    [
      patchNode(node, [...edits, guard, sameInstance], "status"),
      patchNode(node, [labels.edit, addInstanceAnnotation(node, instance), sameInstance]),
    ],
    {
      because: { code: "Refreshed", message: `brought in line with instance ${instance.id}` },
      warnings: labels.warnings,
      otherwise: desired.kind === "problem" ? skip(node, desired.problem) : unchanged(node),
    },
  );
}
