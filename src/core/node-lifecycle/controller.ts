import { buildClusterEvent } from "#core/cluster-events.ts";
import { NODE_LIFECYCLE_EVENT_SOURCE } from "#core/contracts.ts";
import type { DecisionContext, InstanceController, Subject } from "#core/controller.ts";
import type { Decision, DeleteWrite, Plan } from "#core/decision.ts";
import { planEach } from "#core/decisions.ts";
import type { Instance, InstanceAnswer } from "#core/instance.ts";
import { changeOr, leaveUnchanged, patchNode, retry, skip } from "#core/node/decisions.ts";
import type { Node } from "#core/node/node.ts";
import type { NodeSettings } from "#core/node/settings.ts";
import { addShutdownTaint, removeShutdownTaint } from "#core/node/taints.ts";
import { isBeingDeleted } from "#core/node/watch.ts";
import { classifyAnswer, type NodeClassification } from "#core/node-lifecycle/classification.ts";
import { getMonitorDelay, isMonitored, isReady } from "#core/node-lifecycle/needs-work.ts";
import { type ClassifiedNode, type DeletionDecision, planDeletions } from "#core/node-lifecycle/plan.ts";
import {
  BRAKE_EVENTS,
  describeBrake,
  describeUnproven,
  FLEET_EVENTS,
  UNPROVEN_EVENT,
  UNUSABLE_EVENTS,
  WAIT_MESSAGES,
} from "#core/node-lifecycle/reasons.ts";
import { readState, STATE, writeState } from "#core/node-lifecycle/state.ts";
import { nodeLifecycleWatch } from "#core/node-lifecycle/watch.ts";
import type { Reason } from "#core/reason.ts";
import { NODES } from "#core/resources/resource.ts";
import { describeStop, type Stop } from "#core/stop.ts";
import { getNameFact, getProviderIDFact } from "#core/tenant-fact.ts";

const STATEFUL: Readonly<Record<NodeClassification["kind"], boolean>> = {
  exists: true,
  terminated: true,
  missed: true,
  unproven: false,
  replaced: false,
  unseen: false,
  error: false,
};

const HELD_SECONDS = 60;

const CONTENDED_SECONDS = 5;

const NOT_COUNTED = { kind: "unknown", message: "the nodes were not counted" } as const;

const BEING_DELETED: Reason = { code: "BeingDeleted", message: "the node is being deleted" };

const NO_ANSWER: Reason = { code: "NoAnswer", message: "the cloud has not been asked about the node" };

const NOT_OBSERVED: Reason = {
  code: "InstanceUnseen",
  message:
    "its instance is gone, and the node is not deleted: it was never seen with an instance, or not with this one",
};

const REPLACED: Reason = {
  code: "InstanceReplaced",
  message: "its instance is gone, and another one has its name by now, whose kubelet uses the node",
};

const GONE = "its instance is gone, and the node is not deleted";

const DISABLED: Reason = {
  code: "DeletionDisabled",
  message: "its instance is gone, and the cluster's configuration says that nodes are not deleted",
};

/**
 * The cloud-node-lifecycle-controller: taints nodes whose instance is stopped, and deletes those whose
 * instance is gone.
 */
export const nodeLifecycleController: InstanceController<Node> = {
  ...nodeLifecycleWatch,
  eventSource: NODE_LIFECYCLE_EVENT_SOURCE,
  buildQuestion: (node, { settings }) =>
    isAsked(node, settings.nodes) ? { capability: "instances", node, control: true } : undefined,
  getStateReference(batch, { settings, stop }) {
    const subjects = selectStateSubjects(batch, settings, stop);
    if (subjects.length === 0) return undefined;
    return { ...STATE, counted: hasCandidate(subjects) ? NODES : undefined };
  },
  decide: decideLifecycle,
};

type NodeSubject = Subject<Node, InstanceAnswer>;

/** The facts on which decisions about the lifecycle of nodes depend. */
type LifecycleContext = Pick<
  DecisionContext,
  "now" | "settings" | "state" | "count" | "clock" | "stop" | "fleet"
>;

/** Returns whether the cloud is asked about a node: never about a Ready one. */
function isAsked(node: Node, settings: NodeSettings): boolean {
  return !isBeingDeleted(node) && !isReady(node) && isMonitored(node, settings);
}

/**
 * Returns the nodes of a batch that are decided under the deletion state: those whose instance seems gone,
 * and those whose instance exists while the state may still record it as missing.
 */
function selectStateSubjects(
  batch: readonly NodeSubject[],
  { nodes }: { readonly nodes: NodeSettings },
  stop?: Stop,
): ClassifiedNode[] {
  // An announced deletion counts as done, so a stopped one must not be announced.
  if (!nodes.deletion.enabled || stop === "deletes" || stop === "writes") return [];
  return classifyNodes(batch, nodes).filter(
    ({ finding: { kind } }) => STATEFUL[kind] && !(stop === "unproven" && kind === "missed"),
  );
}

/** Returns whether any node will be deleted, now or soon. */
function hasCandidate(found: readonly ClassifiedNode[]): boolean {
  return found.some(({ finding: { kind } }) => kind === "terminated" || kind === "missed");
}

/**
 * Decides on a batch of nodes. A Ready node only loses the shutdown taint; an error deletes and taints
 * nothing.
 */
export function decideLifecycle(batch: readonly NodeSubject[], context: LifecycleContext): Plan {
  const { now, settings, stop, clock = "unknown", count = NOT_COUNTED, fleet } = context;
  const subjects = selectStateSubjects(batch, settings, stop);
  if (subjects.length === 0) return planEach(batch.map((subject) => decideNode(subject, batch, context)));
  const stored = readState(context.state);
  if (stored.kind === "unusable") {
    const { code, message } = stored;
    const because = { code, message: `the node is not deleted: ${message}` };
    const held = (node: Node): Decision => retry(node, because, HELD_SECONDS, [UNUSABLE_EVENTS[code]]);
    return planEach(batch.map((subject) => decideNode(subject, batch, context, held)));
  }
  const { deletion } = settings.nodes;
  const plan = planDeletions(subjects, stored.state, { now, clock, count, fleet, settings: deletion });
  if (plan.next !== undefined) {
    const because = { code: "DeletionState", message: plan.purpose };
    const { next, unproven } = plan;
    return { kind: "shared", because, write: writeState(next, stored.configMap), unproven };
  }
  const judged = new Map(
    subjects.flatMap(({ node }): [string, Decision][] => {
      const verdict = plan.verdicts.get(node.metadata.uid);
      if (verdict === undefined) return [];
      const afterSeconds = getMonitorDelay(node, settings.nodes, now);
      return [[node.metadata.uid, decideByResult(node, verdict, afterSeconds)]];
    }),
  );
  return planEach(
    batch.map((subject) => decideNode(subject, batch, context, ({ metadata }) => judged.get(metadata.uid))),
  );
}

function classifyNodes(batch: readonly NodeSubject[], settings: NodeSettings): ClassifiedNode[] {
  return batch.flatMap((subject) => {
    const { object: node, answer } = subject;
    if (answer === undefined || !isAsked(node, settings)) return [];
    return [{ node, finding: classifyAnswer(subject, answer, batch, settings.deletion) }];
  });
}

/** Decides on one node; `gone` is the deletion decision for a node whose instance is gone. */
function decideNode(
  subject: NodeSubject,
  batch: readonly NodeSubject[],
  { now, settings: { nodes }, stop }: LifecycleContext,
  gone?: (node: Node) => Decision | undefined,
): Decision {
  const { object: node, answer } = subject;
  if (isBeingDeleted(node)) return skip(node, BEING_DELETED);
  if (isReady(node)) return decideReady(node);
  if (!isMonitored(node, nodes)) return leaveUnchanged(node);
  const afterSeconds = getMonitorDelay(node, nodes, now);
  if (answer === undefined) return retry(node, NO_ANSWER, 1, []);
  const finding = classifyAnswer(subject, answer, batch, nodes.deletion);
  switch (finding.kind) {
    case "error":
      return retry(node, { code: finding.answer.code, message: finding.answer.message }, afterSeconds, []);
    case "exists":
      return decideExisting(node, finding.answer.instance, afterSeconds);
    case "replaced": {
      const facts = { providerID: getProviderIDFact(node), successor: finding.successor };
      return retry(node, REPLACED, afterSeconds, [
        buildClusterEvent("InstanceReplaced", "InstanceReplaced", facts),
      ]);
    }
    case "unseen":
      return retry(node, NOT_OBSERVED, afterSeconds, []);
    case "unproven":
      return retry(node, describeUnproven(finding.elsewhere), afterSeconds, [UNPROVEN_EVENT]);
    case "terminated":
    case "missed":
      return (
        gone?.(node) ??
        (stop && skip(node, describeStop(stop, GONE))) ??
        retry(node, DISABLED, afterSeconds, [])
      );
  }
}

/** A Ready node loses the shutdown taint, without a question to the cloud. */
function decideReady(node: Node): Decision {
  const because = { code: "Ready", message: "the node is Ready, and is no longer marked as shut down" };
  return changeOr(node, [patchNode(node, [removeShutdownTaint(node)])], {
    because,
    otherwise: leaveUnchanged(node),
  });
}

/**
 * A stopped instance taints its node. The taint stays until the node is Ready, whatever happens to the
 * instance.
 */
function decideExisting(node: Node, { id, state }: Instance, afterSeconds: number): Decision {
  const because = { code: "InstanceStopped", message: `instance ${id} is stopped` };
  const waiting = { code: "NotReady", message: `instance ${id} is ${state}, and the node is not Ready` };
  const otherwise = retry(node, waiting, afterSeconds, []);
  if (state !== "stopped") return otherwise;
  return changeOr(node, [patchNode(node, [addShutdownTaint(node)])], { because, otherwise });
}

function decideByResult(node: Node, verdict: DeletionDecision, monitorSeconds: number): Decision {
  switch (verdict.kind) {
    case "delete":
      return deleteNode(node);
    case "braked":
      return retry(node, describeBrake(verdict.brake), HELD_SECONDS, [BRAKE_EVENTS[verdict.brake.limit]]);
    case "held": {
      const { hold } = verdict;
      // A claim that lost a conflict with others is retried at once.
      const afterSeconds = hold.code === "FleetBrakeContended" ? CONTENDED_SECONDS : HELD_SECONDS;
      return retry(node, hold, afterSeconds, [...FLEET_EVENTS[hold.code]]);
    }
    case "wait": {
      const message = `the node is not deleted yet: ${WAIT_MESSAGES[verdict.code]}`;
      const afterSeconds = Math.max(1, Math.min(Math.ceil(verdict.afterSeconds), monitorSeconds));
      return retry(node, { code: verdict.code, message }, afterSeconds, []);
    }
  }
}

/** Deletes the node at its current version; after any change it must be checked again. */
function deleteNode(node: Node): Decision {
  const { name, uid, resourceVersion } = node.metadata;
  const write: DeleteWrite = {
    on: "cluster",
    apiVersion: NODES.apiVersion,
    resource: NODES.name,
    name,
    verb: "delete",
    precondition: { uid, resourceVersion },
  };
  return changeOr(node, [write], {
    because: { code: "Deleted", message: "its instance does not exist in the cloud" },
    otherwise: leaveUnchanged(node),
    events: [buildClusterEvent("DeletingNode", "InstanceGone", { node: getNameFact(node) })],
  });
}
