import type { DecisionContext } from "#core/controller.ts";
import type { Decision } from "#core/decision.ts";
import { isSameJson } from "#core/json-patch.ts";
import type { Reason } from "#core/reason.ts";
import { buildActions, buildAnnotationFacts, changeOr } from "#core/service/changes.ts";
import { keepListedTargets } from "#core/service/empty-targets.ts";
import { type Retry, retryUnanswered } from "#core/service/issue-decisions.ts";
import type { LoadBalancerAction, LoadBalancerAnswer, LoadBalancerModel } from "#core/service/model.ts";
import { getIngress } from "#core/service/needs-work.ts";
import { canFollowNodes, type DesiredLoadBalancer, getClaimant } from "#core/service/phase.ts";
import type { Service } from "#core/service/service.ts";
import { type AnnotationFacts, parseStateAnnotation } from "#core/service/state-annotation.ts";
import { claimTargetsOnly, recordTargets } from "#core/service/writes.ts";

/** The facts on which it depends whether a load balancer can follow the nodes. */
export interface FollowingFacts {
  readonly model: LoadBalancerModel;
  /** The cloud's answer with later actions applied; undefined when the cloud was not asked. */
  readonly answer: LoadBalancerAnswer | undefined;
  readonly context: DecisionContext;
}

/** A rejected Service, whose load balancer may follow the nodes. */
export interface RejectedService {
  readonly desired: DesiredLoadBalancer;
  readonly rejection: Retry;
  /** The action that the cloud rejected: neither it nor what follows it is sent again. */
  readonly rejectedAction?: LoadBalancerAction;
}

/** Returns the change that makes an existing load balancer follow the nodes, or the rejection without such a change. */
export function followNodes(
  service: Service,
  { desired, rejection, rejectedAction }: RejectedService,
  { model, answer, context }: FollowingFacts,
): Decision {
  const { settings, now } = context;
  const claimant = getClaimant(context);
  if (!canFollowNodes(desired.question, model)) return rejection;
  if (answer?.kind !== "observed")
    return selectEarlierRetry(rejection, retryUnanswered(service, answer, now));
  const question = { ...desired.question, onlyTargets: true } as const;
  const actions = model.followNodes?.(question, answer.state, settings);
  if (actions === undefined) return rejection;
  if ("kind" in actions)
    return { ...rejection, afterSeconds: Math.min(rejection.afterSeconds, actions.afterSeconds) };
  const facts = buildAnnotationFacts(desired, getIngress(service), now);
  const details = { because: FOLLOWING, warnings: [rejection.because] };
  if (actions.length === 0) {
    if (rejectedAction !== undefined && !hasOtherRecord(service, facts)) return rejection;
    return changeOr(service, [recordTargets(service, facts, claimant)], details, rejection);
  }
  const lost = { question, observed: answer.state, model };
  const targetRetry = keepListedTargets(lost, context);
  if (targetRetry !== undefined) return selectEarlierRetry(rejection, targetRetry);
  const possible = selectPossibleActions(actions, rejectedAction);
  if (possible.length === 0) return rejection;
  const claimed = claimTargetsOnly(service, facts, claimant);
  const writes = [claimed, ...buildActions(service, claimed, possible)];
  return changeOr(service, writes, details, rejection);
}

/**
 * Returns whether the annotation of a Service with a rejected action needs other targets. A change of targets
 * alone, during which the state stays `applied`, is what the cloud rejected, and is not complete.
 */
function hasOtherRecord(service: Service, { targets }: AnnotationFacts): boolean {
  const annotation = parseStateAnnotation(service);
  return annotation?.state === "applying" && annotation.targets !== targets;
}

/** Each action may need the previous ones, so those from the rejected one on are left out. */
function selectPossibleActions(
  actions: readonly LoadBalancerAction[],
  rejected: LoadBalancerAction | undefined,
): readonly LoadBalancerAction[] {
  const index = actions.findIndex(
    ({ action, target, parameters }) =>
      action === rejected?.action &&
      target === rejected.target &&
      isSameJson(parameters, rejected.parameters),
  );
  return index === -1 ? actions : actions.slice(0, index);
}

/** Returns the first retry, due at the earlier of both times. */
function selectEarlierRetry(one: Retry, other: Retry): Decision {
  return { ...one, afterSeconds: Math.min(one.afterSeconds, other.afterSeconds) };
}

const FOLLOWING: Reason = {
  code: "FollowingNodes",
  message: "the targets follow the nodes; another request of the Service is rejected",
};
