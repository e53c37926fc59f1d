import { buildClusterEvent } from "#core/cluster-events.ts";
import type { Decision } from "#core/decision.ts";
import type { Instance, InstanceAnswer } from "#core/instance.ts";
import { getDesiredAddresses, setAddresses } from "#core/node/addresses.ts";
import { changeOr, leaveUnchanged, patchNode, retry, skip } from "#core/node/decisions.ts";
import { addInstanceAnnotation } from "#core/node/instance-annotation.ts";
import { type Issue, retryAfterIssue, toIssue } from "#core/node/issues.ts";
import { type LabelContext, planLabelCorrections, reconcileLabels } from "#core/node/labels.ts";
import type { Node } from "#core/node/node.ts";
import { testProvidedNodeIpUnchanged } from "#core/node/provided-node-ip.ts";
import { testProviderIdUnchanged } from "#core/node/provider-id.ts";
import type { LabelSettings } from "#core/settings.ts";
import { getProviderIDFact, getReplacementFact } from "#core/tenant-fact.ts";

/** Refreshes an initialized node without the cloud: only its labels. */
export function reconcile(node: Node, otherwise = leaveUnchanged(node)): Decision {
  const because = { code: "LabelsReconciled", message: "stable labels set to what the beta labels say" };
  return changeOr(node, [patchNode(node, [reconcileLabels(node)])], { because, otherwise });
}

/**
 * Refreshes an initialized node with the cloud's answer: its labels, its addresses, and a missing instance
 * annotation. Unknown addresses stay unchanged. So do those of a node whose name now belongs to another
 * instance: they are no longer the node's, and belong on the other instance's own node.
 */
export function refresh(node: Node, answer: InstanceAnswer, { now, labels }: LabelContext): Decision {
  switch (answer.kind) {
    case "found":
      return addReplacedWarning(node, answer, refreshFrom(node, answer.instance, labels));
    case "not-found":
      return addReplacedWarning(node, answer, decideWithoutAnswer(node, toIssue(answer), now));
    case "error":
      return decideWithoutAnswer(node, toIssue(answer), now);
  }
}

/** Adds the Warning that names both instances, if another one has taken over. */
function addReplacedWarning(
  node: Node,
  answer: Exclude<InstanceAnswer, { readonly kind: "error" }>,
  decision: Decision,
): Decision {
  const successor = getReplacementFact(answer);
  if (successor === undefined) return decision;
  const event = buildClusterEvent("InstanceReplaced", "InstanceReplaced", {
    providerID: getProviderIDFact(node),
    successor,
  });
  if (decision.kind === "change") return { ...decision, events: [...decision.events, event] };
  const message = `its instance is gone, and ${successor} has its name by now`;
  return retry(node, { code: "InstanceReplaced", message }, REPLACED_SECONDS, [event]);
}

/** The interval between two Warnings, until a person deletes the node. */
const REPLACED_SECONDS = 600;

function decideWithoutAnswer(node: Node, issue: Issue, now: Date): Decision {
  switch (issue.code) {
    // Another provider's node, which another controller has initialized, is in its desired state.
    case "ForeignProviderID":
    // A node can name any instance: a missing, a foreign and an invisible one are treated alike.
    case "InstanceNotFound":
    case "Foreign":
    case "Denied":
      return reconcile(node, skip(node, issue));
    default:
      return retryAfterIssue(node, issue, now);
  }
}

function refreshFrom(node: Node, instance: Instance, settings: LabelSettings): Decision {
  const desired = getDesiredAddresses(node, instance);
  const edits = desired.kind === "addresses" ? [setAddresses(node, desired.addresses)] : [];
  // The cloud has no valid facts about a terminated instance.
  const hasEnded = desired.kind === "issue" && desired.issue.code === "InstanceTerminated";
  const labels = hasEnded
    ? { edit: reconcileLabels(node), warnings: [] }
    : planLabelCorrections(node, instance, settings);
  const sameInstance = { tests: [testProviderIdUnchanged(node)], operations: [] };
  const guard = { tests: [testProvidedNodeIpUnchanged(node)], operations: [] };
  return changeOr(
    node,
    [
      patchNode(node, [...edits, guard, sameInstance], "status"),
      patchNode(node, [labels.edit, addInstanceAnnotation(node, instance), sameInstance]),
    ],
    {
      because: { code: "Refreshed", message: `brought in line with instance ${instance.id}` },
      warnings: labels.warnings,
      otherwise: desired.kind === "issue" ? skip(node, desired.issue) : leaveUnchanged(node),
    },
  );
}
