import { buildClusterEvent } from "#core/cluster-events.ts";
import type { Decision } from "#core/decision.ts";
import type { EventReason } from "#core/event.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { skip } from "#core/node/decisions.ts";
import { initialize } from "#core/node/initialize.ts";
import { retryAfterIssue } from "#core/node/issues.ts";
import { isBeingDeleted, needsInstance } from "#core/node/needs-work.ts";
import type { Node } from "#core/node/node.ts";
import { reconcile, refresh } from "#core/node/refresh.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { DEFAULT_SETTINGS, type Settings } from "#core/settings.ts";
import type { TenantFact } from "#core/tenant-fact.ts";

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
