import { buildClusterEvent } from "#core/cluster-events.ts";
import type { DecisionContext } from "#core/controller.ts";
import type { Decision } from "#core/decision.ts";
import { leaveUnchanged, retry, skip, toReference } from "#core/decisions.ts";
import type { Reason } from "#core/reason.ts";
import { SERVICES } from "#core/resources/resource.ts";
import { ELSEWHERE } from "#core/service/changes.ts";
import { checkDeletionVisibility } from "#core/service/deletion-visibility.ts";
import { isLosingLastTarget, keepLastTarget, keepListedTargets } from "#core/service/empty-targets.ts";
import { ensureLoadBalancer, finishService } from "#core/service/ensure.ts";
import { type FollowingFacts, followNodes } from "#core/service/follow-nodes.ts";
import { type Rejection, rejectWithIssue, retryUnanswered } from "#core/service/issue-decisions.ts";
import { IN_PROGRESS, LIMIT_REACHED, SERVICES_UNKNOWN } from "#core/service/issues.ts";
import {
  LISTENERS_KEY,
  LOAD_BALANCERS_KEY,
  measureReservation,
  type ReachedLimit,
} from "#core/service/load-balancer-quota.ts";
import type { Issue } from "#core/service/model.ts";
import { getIngress } from "#core/service/needs-work.ts";
import {
  type DesiredLoadBalancer,
  decidePhase,
  getClaimant,
  type Phase,
  type WithoutRoom,
} from "#core/service/phase.ts";
import { removeLoadBalancer, rollBackCreation } from "#core/service/remove.ts";
import type { Service } from "#core/service/service.ts";
import { getMaxLoadBalancers } from "#core/service/settings.ts";

/** The facts, in addition to the Service itself, on which a decision depends. */
export interface ServiceFacts extends FollowingFacts {
  /** The state as the cloud itself answered it. */
  readonly observed: unknown;
}

/**
 * Decides on one Service: first the finalizer, then the next step of the cloud's model, then the status. When
 * the Service leaves, the order is reversed. Each decision on the result of the previous one comes closer to
 * `unchanged`.
 */
export function decideService(service: Service, facts: ServiceFacts): Decision {
  const { model, answer, context } = facts;
  const reference = toReference(SERVICES, service);
  const phase = decidePhase(service, model, context);
  switch (phase.kind) {
    case "none":
      return leaveUnchanged(reference);
    case "foreign":
      return skip(reference, ELSEWHERE);
    case "unknown-nodes":
      return retry(reference, NODES_UNKNOWN, 5);
    case "stale-nodes":
      return retry(reference, NODES_STALE, 2);
    case "over-limit":
    case "unknown-services":
      return retryWithoutRoom(service, phase, context);
    case "yielding":
      return retry(reference, YIELDED, YIELDED_SECONDS);
    case "rechecking":
      return retry(reference, TO_BE_RECHECKED, phase.afterSeconds);
    case "rejected":
      return rejectService(service, phase, facts);
    case "applied": {
      const complete = { ingress: getIngress(service), warnings: [] };
      return finishService(service, phase.desired, complete, getClaimant(context));
    }
    case "asking":
      return decideWanted(service, phase, facts);
    case "leaving":
      return decideLeaving(service, phase, facts);
    case "undoing": {
      if (answer?.kind !== "observed") return retryUnanswered(service, answer, context.now);
      const step = model.planStep(phase.question, answer.state, context.settings);
      return rollBackCreation(service, phase.annotation, step, getClaimant(context));
    }
  }
}

type PhaseOf<Kind extends Phase["kind"]> = Extract<Phase, { readonly kind: Kind }>;

/** Decides on a Service whose load balancer is wanted. */
function decideWanted(
  service: Service,
  { desired, withoutRoom }: PhaseOf<"asking">,
  facts: ServiceFacts,
): Decision {
  const { model, answer, observed, context } = facts;
  const { settings, now } = context;
  if (withoutRoom !== undefined) {
    if (answer?.kind !== "observed") return retryUnanswered(service, answer, now, desired);
    // A load balancer that the cloud shows as the cluster's counts against the quota, whatever its creator.
    if (model.isVisible?.(desired.question, observed, settings) !== true)
      return retryWithoutRoom(service, withoutRoom, context);
  }
  const lastTargetDecision = isLosingLastTarget(service, desired, model)
    ? keepLastTarget(service, model, context)
    : undefined;
  if (lastTargetDecision !== undefined) return lastTargetDecision;
  if (answer?.kind !== "observed") return retryUnanswered(service, answer, now, desired);
  const step = model.planStep(desired.question, answer.state, settings);
  if (step.kind === "refused") return rejectService(service, { desired, issue: step.issue }, facts);
  if (step.kind === "act") {
    const lost = { question: desired.question, observed: answer.state, model };
    const waitDecision = keepListedTargets(lost, context) ?? waitForReservation(service, desired, facts);
    if (waitDecision !== undefined) return waitDecision;
  }
  return ensureLoadBalancer(service, desired, step, getClaimant(context));
}

/** Decides on a Service whose load balancer has to go. */
function decideLeaving(
  service: Service,
  { question }: PhaseOf<"leaving">,
  { model, answer, observed, context }: ServiceFacts,
): Decision {
  if (answer?.kind !== "observed") return retryUnanswered(service, answer, context.now);
  const claimant = getClaimant(context);
  const cloud = {
    isVisible: model.isVisible?.(question, observed, context.settings) ?? true,
    isImmediatelyVisible: model.isImmediatelyVisible === true,
  };
  const visibility = checkDeletionVisibility(service, cloud, claimant);
  const step = model.planStep(question, answer.state, context.settings);
  return removeLoadBalancer(service, step, { visibility, claimant });
}

/** Without the other Services, nothing shows that the limit is reached: no Warning says so. */
function retryWithoutRoom(service: Service, { kind }: WithoutRoom, { settings }: DecisionContext): Decision {
  if (kind === "unknown-services") return retry(toReference(SERVICES, service), SERVICES_UNKNOWN, 5);
  const because = createLimitReason(getMaxLoadBalancers(settings.loadBalancers));
  return retry(toReference(SERVICES, service), because, 60, [LIMIT]);
}

/**
 * Returns the decision when the quota leaves no room for a load balancer or its listeners; undefined when it
 * does.
 */
function waitForReservation(
  service: Service,
  desired: DesiredLoadBalancer,
  facts: ServiceFacts,
): Decision | undefined {
  const { model, observed, context } = facts;
  const { reservations, settings, now } = context;
  if (reservations === undefined || reservations.kind === "uncounted") return undefined;
  if (measureReservation(desired.question, observed, { model, settings }) === undefined) return undefined;
  if (reservations.kind === "unknown") return retryUnanswered(service, reservations, now, desired);
  const { uid } = service.metadata;
  if (reservations.granted.has(uid)) return undefined;
  const reached = reservations.rejected.get(uid);
  const reference = toReference(SERVICES, service);
  if (reached === undefined) return retry(reference, QUOTA_PENDING, QUOTA_RETRY_SECONDS);
  // A load balancer that serves stays, and follows the nodes.
  if (reached.name === LISTENERS_KEY)
    return rejectService(service, { desired, issue: createPortLimitIssue(reached) }, facts);
  const because =
    reached.name === LOAD_BALANCERS_KEY ? createLimitReason(reached.limit) : createShareReason(reached);
  return retry(reference, because, 60, [LIMIT]);
}

/** Reports why the Service is rejected. An existing load balancer still follows the nodes. */
function rejectService(
  service: Service,
  { issue, desired, dueInSeconds }: Omit<PhaseOf<"rejected">, "kind">,
  facts: ServiceFacts,
): Decision {
  const rejected = rejectWithIssue(service, issue, facts.context.now);
  const afterSeconds = Math.min(rejected.afterSeconds, dueInSeconds ?? rejected.afterSeconds);
  const rejection = { ...rejected, afterSeconds };
  return desired === undefined ? rejection : followNodes(service, { desired, rejection }, facts);
}

/**
 * Decides on a Service after the cloud rejected an action: an existing load balancer follows the nodes, and
 * nothing else changes until the next observation. Undefined if the rejection does not last, or if the Service is in
 * another phase, such as its deletion.
 */
export function decideAfterRejection(
  service: Service,
  rejection: Rejection | undefined,
  facts: ServiceFacts,
): Decision | undefined {
  if (rejection?.isLasting !== true) return undefined;
  const phase = decidePhase(service, facts.model, facts.context);
  if (phase.kind !== "asking") return undefined;
  const { action: rejectedAction, retry } = rejection;
  return followNodes(service, { desired: phase.desired, rejection: retry, rejectedAction }, facts);
}

const LIMIT = buildClusterEvent("SyncLoadBalancerFailed", "LoadBalancerLimit", {});

/** Within these seconds the other actor has finished, or has died and its requests have arrived. */
const YIELDED_SECONDS = 45;
const YIELDED: Reason = {
  code: IN_PROGRESS,
  message: "another actor has claimed the Service, and continues",
};
const TO_BE_RECHECKED: Reason = {
  code: IN_PROGRESS,
  message: "applied after a take-over: the cloud is observed once more",
};
const NODES_UNKNOWN: Reason = {
  code: "NodesUnknown",
  message: "the event came without the cluster's nodes",
};
const NODES_STALE: Reason = {
  code: "NodesStale",
  message: "the event's nodes are older than those applied last",
};

/** The next listing may grant reservations again. */
const QUOTA_RETRY_SECONDS = 3;
const QUOTA_PENDING: Reason = {
  code: IN_PROGRESS,
  message: "the cluster's load balancers are counted again first",
};

function createPortLimitIssue({ limit }: ReachedLimit): Issue {
  const detail = `the load balancers of the cluster may have ${limit} ports together (loadBalancers.maxPorts)`;
  return { code: "TooManyClusterPorts", detail };
}

function createShareReason({ name, limit }: ReachedLimit): Reason {
  const message = `the cluster may have ${limit} of ${name}, its share of the account's quota; loadBalancers.max can raise it`;
  return { code: LIMIT_REACHED, message };
}

function createLimitReason(max: number): Reason {
  const message = `the cluster has its ${max} load balancers (loadBalancers.max); older Services come first`;
  return { code: LIMIT_REACHED, message };
}
