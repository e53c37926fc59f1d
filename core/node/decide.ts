import { tell } from "#core/cluster-events.ts";
import type { Decision } from "#core/decision.ts";
import type { EventReason } from "#core/event.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { skip } from "#core/node/decisions.ts";
import { initialize } from "#core/node/initialize.ts";
import { isBeingDeleted, needsInstance } from "#core/node/needs-work.ts";
import type { Node } from "#core/node/node.ts";
import { retryAfterProblem } from "#core/node/problems.ts";
import { reconcile, refresh } from "#core/node/refresh.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { DEFAULT_SETTINGS, type Settings } from "#core/settings.ts";
import type { TenantFact } from "#core/tenant-fact.ts";

/** What a decision depends on beside the node and its instance. */
export interface DecisionContext {
  readonly reason: EventReason;
  readonly now: Date;
  /** Without them, those of a configuration that says nothing. */
  readonly settings?: Settings;
  /** Who keeps putting the uninitialized taint back, where somebody was seen to. */
  readonly taintRestoredBy?: TenantFact | undefined;
}

/**
 * Decides what is to be written on one node. `answer` is the cloud's, and undefined where it was not asked. Deciding
 * again on the result of a change gives a skip.
 */
export function decideNode(
  node: Node,
  answer: InstanceAnswer | undefined,
  { reason, now, settings = DEFAULT_SETTINGS, taintRestoredBy }: DecisionContext,
): Decision {
  if (isBeingDeleted(node)) return skip(node, BEING_DELETED);
  if (!needsInstance(node, reason)) return reconcile(node);
  if (answer === undefined) return retryAfterProblem(node, NO_ANSWER, now);
  const { labels } = settings.nodes;
  if (isUninitialized(node))
    return warnOfRestored(initialize(node, answer, { now, labels }), taintRestoredBy);
  return refresh(node, answer, { now, labels });
}

const BEING_DELETED = { code: "BeingDeleted", message: "the node is being deleted" } as const;
const NO_ANSWER = { code: "NoAnswer", message: "the cloud has not been asked about the node" } as const;

/** Adds the Warning that tells who works against us; it goes with the change that undoes the other's work once more. */
function warnOfRestored(decision: Decision, manager: TenantFact | undefined): Decision {
  if (manager === undefined || decision.kind !== "change") return decision;
  const event = tell("TaintRestored", "TaintRestored", { manager });
  return { ...decision, events: [...decision.events, event] };
}
