import { tell } from "#core/cluster-events.ts";
import type { DecisionContext, Subject } from "#core/controller.ts";
import type { Because, Decision, DeleteWrite, Plan } from "#core/decision.ts";
import { each } from "#core/decisions.ts";
import type { Instance, InstanceAnswer } from "#core/instance.ts";
import { changeOr, patchNode, retry, skip, unchanged } from "#core/node/decisions.ts";
import { isBeingDeleted } from "#core/node/needs-work.ts";
import type { Node } from "#core/node/node.ts";
import { type Finding, findingOf } from "#core/node-lifecycle/finding.ts";
import { monitorAfterSeconds } from "#core/node-lifecycle/monitor.ts";
import { isMonitored, isReady } from "#core/node-lifecycle/needs-work.ts";
import { type Found, planDeletions, type Verdict } from "#core/node-lifecycle/plan.ts";
import { addShutdownTaint, removeShutdownTaint } from "#core/node-lifecycle/shutdown-taint.ts";
import { readState, writeState } from "#core/node-lifecycle/state.ts";
import {
  BRAKE_EVENTS,
  becauseOfBrake,
  becauseUnproven,
  FLEET_EVENTS,
  UNPROVEN_EVENT,
  UNUSABLE_EVENTS,
  WAIT_MESSAGES,
} from "#core/node-lifecycle/told.ts";
import { NODES } from "#core/resources/resource.ts";
import type { NodeSettings } from "#core/settings.ts";
import { becauseOfStop, type Stop } from "#core/stop.ts";
import { nameOf, providerIDOf } from "#core/tenant-fact.ts";

type NodeSubject = Subject<Node, InstanceAnswer>;

/** What decisions on the lifecycle of nodes depend on. */
type LifecycleContext = Pick<
  DecisionContext,
  "now" | "settings" | "state" | "count" | "clock" | "stop" | "fleet"
>;

/** Whether the cloud is asked about a node: never about one that is Ready. */
export function isAsked(node: Node, settings: NodeSettings): boolean {
  return !isBeingDeleted(node) && !isReady(node) && isMonitored(node, settings);
}

/**
 * The nodes of a batch that are decided on under the state of deletion: those whose instance is gone, as far as that can be told,
 * and those whose instance is there, which the state may still say is missed.
 */
export function underState(
  batch: readonly NodeSubject[],
  { nodes }: { readonly nodes: NodeSettings },
  stop?: Stop,
): Found[] {
  // What is announced counts as deleted: nothing is that will not be.
  if (!nodes.deletion.enabled || stop === "deletes" || stop === "writes") return [];
  return foundIn(batch, nodes).filter(
    ({ finding: { kind } }) => STATEFUL[kind] && !(stop === "unproven" && kind === "missed"),
  );
}

const STATEFUL: Readonly<Record<Finding["kind"], boolean>> = {
  exists: true,
  terminated: true,
  missed: true,
  unproven: false,
  replaced: false,
  unseen: false,
  error: false,
};

/** Whether any of them is to be deleted, now or soon. */
export function hasCandidate(found: readonly Found[]): boolean {
  return found.some(({ finding: { kind } }) => kind === "terminated" || kind === "missed");
}

/** Decides on a batch of nodes. A Ready node is freed of the mark of a stopped one at the most; an error deletes and marks nothing. */
export function decideLifecycle(batch: readonly NodeSubject[], context: LifecycleContext): Plan {
  const { now, settings, stop, clock = "unknown", count = NOT_COUNTED, fleet } = context;
  const found = underState(batch, settings, stop);
  if (found.length === 0) return each(batch.map((subject) => decideNode(subject, batch, context)));
  const stored = readState(context.state);
  if (stored.kind === "unusable") {
    const { code, message } = stored;
    const because = { code, message: `the node is not deleted: ${message}` };
    const held = (node: Node): Decision => retry(node, because, HELD_SECONDS, [UNUSABLE_EVENTS[code]]);
    return each(batch.map((subject) => decideNode(subject, batch, context, held)));
  }
  const { deletion } = settings.nodes;
  const plan = planDeletions(found, stored.state, { now, clock, count, fleet, settings: deletion });
  if (plan.next !== undefined) {
    const because = { code: "DeletionState", message: plan.purpose };
    const { next, unproven } = plan;
    return { kind: "shared", because, write: writeState(next, stored.configMap), unproven };
  }
  const judged = new Map(
    found.flatMap(({ node }): [string, Decision][] => {
      const verdict = plan.verdicts.get(node.metadata.uid);
      if (verdict === undefined) return [];
      const afterSeconds = monitorAfterSeconds(node, settings.nodes, now);
      return [[node.metadata.uid, byVerdict(node, verdict, afterSeconds)]];
    }),
  );
  return each(
    batch.map((subject) => decideNode(subject, batch, context, ({ metadata }) => judged.get(metadata.uid))),
  );
}

const HELD_SECONDS = 60;
const CONTENDED_SECONDS = 5;
const NOT_COUNTED = { kind: "unknown", message: "nobody has counted them" } as const;

function foundIn(batch: readonly NodeSubject[], settings: NodeSettings): Found[] {
  return batch.flatMap((subject) => {
    const { object: node, answer } = subject;
    if (answer === undefined || !isAsked(node, settings)) return [];
    return [{ node, finding: findingOf(subject, answer, batch, settings.deletion) }];
  });
}

/** Decides on one node; `gone` is for one whose instance is, and may be deleted. */
function decideNode(
  subject: NodeSubject,
  batch: readonly NodeSubject[],
  { now, settings: { nodes }, stop }: LifecycleContext,
  gone?: (node: Node) => Decision | undefined,
): Decision {
  const { object: node, answer } = subject;
  if (isBeingDeleted(node)) return skip(node, BEING_DELETED);
  if (isReady(node)) return decideReady(node);
  if (!isMonitored(node, nodes)) return unchanged(node);
  const afterSeconds = monitorAfterSeconds(node, nodes, now);
  if (answer === undefined) return retry(node, NO_ANSWER, 1, []);
  const finding = findingOf(subject, answer, batch, nodes.deletion);
  switch (finding.kind) {
    case "error":
      return retry(node, { code: finding.answer.code, message: finding.answer.message }, afterSeconds, []);
    case "exists":
      return decideExisting(node, finding.answer.instance, afterSeconds);
    case "replaced": {
      const facts = { providerID: providerIDOf(node), successor: finding.successor };
      return retry(node, REPLACED, afterSeconds, [tell("InstanceReplaced", "InstanceReplaced", facts)]);
    }
    case "unseen":
      return retry(node, UNSEEN, afterSeconds, []);
    case "unproven":
      return retry(node, becauseUnproven(finding.elsewhere), afterSeconds, [UNPROVEN_EVENT]);
    case "terminated":
    case "missed":
      return (
        gone?.(node) ??
        (stop && skip(node, becauseOfStop(stop, GONE))) ??
        retry(node, DISABLED, afterSeconds, [])
      );
  }
}

const BEING_DELETED: Because = { code: "BeingDeleted", message: "the node is being deleted" };
const NO_ANSWER: Because = { code: "NoAnswer", message: "the cloud has not been asked about the node" };
const UNSEEN: Because = {
  code: "InstanceUnseen",
  message:
    "its instance is gone, and the node is not deleted: it was never seen with an instance, or not with this one",
};
const REPLACED: Because = {
  code: "InstanceReplaced",
  message: "its instance is gone, and another one has its name by now, whose kubelet uses the node",
};
const GONE = "its instance is gone, and the node is not deleted";
const DISABLED: Because = {
  code: "DeletionDisabled",
  message: "its instance is gone, and the cluster's configuration says that nodes are not deleted",
};

/** Back in service: what marked it as stopped goes, and nobody is asked. */
function decideReady(node: Node): Decision {
  const because = { code: "Ready", message: "the node is Ready, and is no longer marked as shut down" };
  return changeOr(node, [patchNode(node, [removeShutdownTaint(node)])], {
    because,
    otherwise: unchanged(node),
  });
}

/** A stopped instance marks its node; what is marked stays so until the node is Ready, whatever becomes of the instance. */
function decideExisting(node: Node, { id, state }: Instance, afterSeconds: number): Decision {
  const because = { code: "InstanceStopped", message: `instance ${id} is stopped` };
  const waiting = { code: "NotReady", message: `instance ${id} is ${state}, and the node is not Ready` };
  const otherwise = retry(node, waiting, afterSeconds, []);
  if (state !== "stopped") return otherwise;
  return changeOr(node, [patchNode(node, [addShutdownTaint(node)])], { because, otherwise });
}

function byVerdict(node: Node, verdict: Verdict, monitorSeconds: number): Decision {
  switch (verdict.kind) {
    case "delete":
      return deleteNode(node);
    case "braked":
      return retry(node, becauseOfBrake(verdict.brake), HELD_SECONDS, [BRAKE_EVENTS[verdict.brake.limit]]);
    case "held": {
      const { hold } = verdict;
      // Whoever came too late because of others has another try at once.
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

/** Deletes the node as it is now: with any change it has to be looked at again. */
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
    otherwise: unchanged(node),
    events: [tell("DeletingNode", "InstanceGone", { node: nameOf(node) })],
  });
}
