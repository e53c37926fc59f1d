import { buildClusterEvent } from "#core/cluster-events.ts";
import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import type { Decision, TestOperation } from "#core/decision.ts";
import type { EventReason } from "#core/event.ts";
import type { Instance, InstanceAnswer } from "#core/instance.ts";
import { add, type Edit, formatPointer, type MapEntry, NO_EDIT, setEntries, test } from "#core/json-patch.ts";
import { getDesiredAddresses, setAddresses, testAddressesUnchanged } from "#core/node/addresses.ts";
import { changeOr, leaveUnchanged, patchNode, retry, skip } from "#core/node/decisions.ts";
import { type Issue, retryAfterIssue, toIssue } from "#core/node/issues.ts";
import {
  buildInstanceLabels,
  type LabelContext,
  planLabelCorrections,
  reconcileLabels,
} from "#core/node/labels.ts";
import type { Node } from "#core/node/node.ts";
import { testProvidedNodeIpUnchanged } from "#core/node/provided-node-ip.ts";
import type { LabelSettings } from "#core/node/settings.ts";
import { isUninitialized, removeUninitialized } from "#core/node/taints.ts";
import { isBeingDeleted, needsInstance } from "#core/node/watch.ts";
import type { Reason } from "#core/reason.ts";
import { DEFAULT_SETTINGS, type Settings } from "#core/settings.ts";
import { getProviderIDFact, getReplacementFact, type TenantFact } from "#core/tenant-fact.ts";

/** The facts on which a decision depends, in addition to the node and its instance. */
export interface DecisionContext {
  readonly reason: EventReason;
  readonly now: Date;
  /** By default the settings of an empty configuration. */
  readonly settings?: Settings;
  /** The manager that keeps restoring the uninitialized taint, if one was observed. */
  readonly taintRestoredBy?: TenantFact | undefined;
}

/**
 * Decides what to write on one node. `answer` is the cloud's, and undefined if it was not asked. A second
 * decision on the result of a change is a skip.
 */
export function decideNode(
  node: Node,
  answer: InstanceAnswer | undefined,
  { reason, now, settings = DEFAULT_SETTINGS, taintRestoredBy }: DecisionContext,
): Decision {
  if (isBeingDeleted(node)) return skip(node, BEING_DELETED);
  if (!needsInstance(node, reason)) return reconcile(node);
  if (answer === undefined) return retryAfterIssue(node, NO_ANSWER, now);
  const { labels } = settings.nodes;
  if (isUninitialized(node))
    return addRestoredWarning(initialize(node, answer, { now, labels }), taintRestoredBy);
  return refresh(node, answer, { now, labels });
}

const BEING_DELETED = { code: "BeingDeleted", message: "the node is being deleted" } as const;

const NO_ANSWER = { code: "NoAnswer", message: "the cloud has not been asked about the node" } as const;

/** Adds the Warning that names the manager working against us, on the change that reverts its work again. */
function addRestoredWarning(decision: Decision, manager: TenantFact | undefined): Decision {
  if (manager === undefined || decision.kind !== "change") return decision;
  const event = buildClusterEvent("TaintRestored", "TaintRestored", { manager });
  return { ...decision, events: [...decision.events, event] };
}

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

/** Sets the provider ID if the node has none; neither Kubernetes nor this controller ever changes it. */
function setProviderId(node: Node, instance: Instance): Edit {
  if (hasProviderId(node)) return NO_EDIT;
  const operations = [add(formatPointer("spec", "providerID"), instance.providerID)];
  return { tests: [testProviderIdUnchanged(node)], operations };
}

/**
 * Returns a test that the node still names the checked instance: an event may be old, or its sender wrong.
 */
function testProviderIdUnchanged(node: Node): TestOperation {
  return test(formatPointer("spec", "providerID"), hasProviderId(node) ? node.spec.providerID : null);
}

/** Returns a warning if the node's provider ID differs from the cloud's. */
function listProviderIdWarnings(node: Node, instance: Instance): Reason[] {
  if (!hasProviderId(node) || node.spec.providerID === instance.providerID) return [];
  const message = `the node keeps its provider ID ${node.spec.providerID}; the cloud's is ${instance.providerID}`;
  return [{ code: "ProviderIDDiffers", message }];
}

function hasProviderId(node: Node): boolean {
  return (node.spec.providerID ?? "") !== "";
}

/**
 * Writes the instance from which the node was initialized, over any earlier value, and the cloud's other
 * annotations.
 */
function setInstanceAnnotation(node: Node, instance: Instance): Edit {
  const value = formatIdentity(instance);
  const instanceEntries =
    getAnnotation(node, INSTANCE_ANNOTATION) === value
      ? []
      : [{ key: INSTANCE_ANNOTATION, value, tests: [] }];
  return annotate(node, [...instanceEntries, ...listMissingAnnotations(node, instance)]);
}

/**
 * Writes the instance on a node that was taken over and has no instance annotation, and the cloud's missing
 * annotations.
 */
function addInstanceAnnotation(node: Node, instance: Instance): Edit {
  const isAnnotated = getAnnotation(node, INSTANCE_ANNOTATION) !== undefined;
  const instanceEntries = isAnnotated
    ? []
    : [
        {
          key: INSTANCE_ANNOTATION,
          value: formatIdentity(instance),
          tests: [testUnchanged(node, INSTANCE_ANNOTATION)],
        },
      ];
  return annotate(node, [...instanceEntries, ...listMissingAnnotations(node, instance)]);
}

/** The cloud's annotations that are absent or empty; a test keeps concurrent writes of others. */
function listMissingAnnotations(node: Node, { annotations = {} }: Instance): MapEntry[] {
  return Object.entries(annotations).flatMap(([key, value]) =>
    getAnnotation(node, key) || value === "" ? [] : [{ key, value, tests: [testUnchanged(node, key)] }],
  );
}

function formatIdentity({ account, network, id }: Instance): string {
  return `${account}/${network}/${id}`;
}

function getAnnotation(node: Node, key: string): string | undefined {
  const { annotations = {} } = node.metadata;
  return Object.hasOwn(annotations, key) ? annotations[key] : undefined;
}

function testUnchanged(node: Node, key: string): TestOperation {
  return test(formatPointer("metadata", "annotations", key), getAnnotation(node, key) ?? null);
}

function annotate(node: Node, entries: readonly MapEntry[]): Edit {
  return setEntries(
    formatPointer("metadata", "annotations"),
    node.metadata.annotations !== undefined,
    entries,
  );
}
