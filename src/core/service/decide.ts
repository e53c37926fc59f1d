import { buildClusterEvent } from "#core/cluster-events.ts";
import type { DecisionContext } from "#core/controller.ts";
import type { CloudAction, ClusterEvent, Decision, PatchWrite, Write } from "#core/decision.ts";
import { type ChangeDetails, change, leaveUnchanged, retry, skip, toReference } from "#core/decisions.ts";
import { applyOperations } from "#core/json-patch.ts";
import type { Reason } from "#core/reason.ts";
import { SERVICES } from "#core/resources/resource.ts";
import { type Claimant, endClaim } from "#core/service/claims.ts";
import {
  checkDeletionVisibility,
  type DeletionVisibility,
  getCreationRecheckSeconds,
} from "#core/service/deletion-visibility.ts";
import { isLosingLastTarget, keepLastTarget } from "#core/service/empty-targets.ts";
import {
  buildWarning,
  describeIssue,
  type Retry,
  rejectWithIssue,
  retryForTargets,
  retryUnanswered,
} from "#core/service/issue-decisions.ts";
import { IN_PROGRESS, LIMIT_REACHED } from "#core/service/issues.ts";
import { LISTENER_COUNT, LOAD_BALANCER_COUNT, type ReachedBound } from "#core/service/load-balancer-quota.ts";
import { keepListedTargets } from "#core/service/lost-targets.ts";
import {
  type Issue,
  LOAD_BALANCERS,
  type LoadBalancerAction,
  type LoadBalancerAnswer,
  type LoadBalancerModel,
  type LoadBalancerStep,
  type PossibleStep,
} from "#core/service/model.ts";
import { getIngress, hashContent, hashOfIngress } from "#core/service/needs-work.ts";
import {
  canFollowNodes,
  type DesiredLoadBalancer,
  decidePhase,
  getClaimant,
  measureReservation,
  type Phase,
} from "#core/service/phase.ts";
import type { Ingress, Service } from "#core/service/service.ts";
import {
  formatAwaitedTargets,
  parseStateAnnotation,
  type StateAnnotation,
} from "#core/service/state-annotation.ts";
import {
  type AnnotationFacts,
  claim,
  claimLeaving,
  claimTargets,
  claimTargetsOnly,
  getPreviousClaim,
  planServiceEdit,
  recordTargets,
  release,
  releaseWithoutStatus,
  writeApplied,
  writeIdleClaim,
  writeLeaving,
  writeRollback,
} from "#core/service/writes.ts";
import { limitLoadBalancers } from "#core/settings.ts";

/** The facts, in addition to the Service itself, on which a decision depends. */
export interface ServiceFacts {
  readonly model: LoadBalancerModel;
  /** The cloud's answer with later actions applied; undefined when the cloud was not asked. */
  readonly answer: LoadBalancerAnswer | undefined;
  /** The state as the cloud itself answered it. */
  readonly observed: unknown;
  readonly context: DecisionContext;
}

/**
 * Decides on one Service: first the finalizer, then the next step of the cloud's model, then the status. When
 * the Service leaves, the order is reversed. Each decision on the result of the previous one comes closer to
 * `unchanged`.
 */
export function decideService(
  service: Service,
  { model, answer, observed, context }: ServiceFacts,
): Decision {
  const { settings, now } = context;
  const claimant = getClaimant(context);
  const reference = toReference(SERVICES, service);
  const phase = decidePhase(service, model, context);
  switch (phase.kind) {
    case "none":
      return leaveUnchanged(reference);
    case "elsewhere":
      return skip(reference, ELSEWHERE);
    case "unknown-nodes":
      return retry(reference, NODES_UNKNOWN, 5);
    case "stale-nodes":
      return retry(reference, NODES_STALE, 2);
    case "no-turn":
      return retry(reference, createLimitReason(limitLoadBalancers(settings.loadBalancers)), 60, [LIMIT]);
    case "yielding":
      return retry(reference, YIELDED, YIELDED_SECONDS);
    case "rechecking":
      return retry(reference, TO_BE_RECHECKED, phase.afterSeconds);
    case "refused":
      return rejectService(service, phase, { model, answer, observed, context });
    case "applied":
      return finishService(service, phase.desired, { ingress: getIngress(service), warnings: [] }, claimant);
    case "asking": {
      const { desired } = phase;
      if (phase.needsQuota === true) {
        if (answer?.kind !== "observed") return retryUnanswered(service, answer, now, desired);
        // A load balancer that the cloud shows as the cluster's counts against the quota, whatever its creator.
        if (model.isVisible?.(desired.question, observed, settings) !== true)
          return retry(reference, createLimitReason(limitLoadBalancers(settings.loadBalancers)), 60, [LIMIT]);
      }
      const lastTargetDecision = isLosingLastTarget(service, desired, model)
        ? keepLastTarget(service, model, context)
        : undefined;
      if (lastTargetDecision !== undefined) return lastTargetDecision;
      if (answer?.kind !== "observed") return retryUnanswered(service, answer, now, desired);
      const step = model.planStep(desired.question, answer.state, settings);
      if (step.kind === "act") {
        const lost = { question: desired.question, observed: answer.state, model };
        const waitDecision =
          keepListedTargets(lost, context) ??
          waitForReservation(service, desired, { model, answer, observed, context });
        if (waitDecision !== undefined) return waitDecision;
      }
      if (step.kind !== "refused") return ensureLoadBalancer(service, desired, step, claimant);
      return rejectService(service, { desired, issue: step.issue }, { model, answer, observed, context });
    }
    case "leaving": {
      if (answer?.kind !== "observed") return retryUnanswered(service, answer, now);
      const { question } = phase;
      const isVisible = model.isVisible?.(question, observed, settings) ?? true;
      const visibility = checkDeletionVisibility(
        service,
        { isVisible, isImmediatelyVisible: model.isImmediatelyVisible === true },
        claimant,
      );
      return removeLoadBalancer(service, model.planStep(question, answer.state, settings), {
        visibility,
        claimant,
      });
    }
    case "undoing": {
      if (answer?.kind !== "observed") return retryUnanswered(service, answer, now);
      return rollBackCreation(
        service,
        phase.annotation,
        model.planStep(phase.question, answer.state, settings),
        claimant,
      );
    }
  }
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
  if (reached.name === LISTENER_COUNT)
    return rejectService(service, { desired, issue: createPortLimitIssue(reached) }, facts);
  const because =
    reached.name === LOAD_BALANCER_COUNT ? createLimitReason(reached.bound) : createShareReason(reached);
  return retry(reference, because, 60, [LIMIT]);
}

/** Reports why the Service is refused. An existing load balancer still follows the nodes. */
function rejectService(
  service: Service,
  { issue, desired, dueInSeconds }: Omit<Extract<Phase, { readonly kind: "refused" }>, "kind">,
  { model, answer, context }: ServiceFacts,
): Decision {
  const { settings, now } = context;
  const claimant = getClaimant(context);
  const refused = rejectWithIssue(service, issue, now);
  const afterSeconds = Math.min(refused.afterSeconds, dueInSeconds ?? refused.afterSeconds);
  const rejection = { ...refused, afterSeconds };
  if (desired === undefined || !canFollowNodes(desired.question, model)) return rejection;
  if (answer?.kind !== "observed")
    return selectEarlierRetry(rejection, retryUnanswered(service, answer, now));
  const question = { ...desired.question, onlyTargets: true } as const;
  const actions = model.followNodes?.(question, answer.state, settings);
  if (actions === undefined) return rejection;
  if ("kind" in actions) return { ...rejection, afterSeconds: Math.min(afterSeconds, actions.afterSeconds) };
  const facts = buildAnnotationFacts(desired, getIngress(service), now);
  const isDone = actions.length === 0;
  const lost = { question, observed: answer.state, model };
  const targetRetry = isDone ? undefined : keepListedTargets(lost, context);
  if (targetRetry !== undefined) return selectEarlierRetry(rejection, targetRetry);
  const claimed = isDone
    ? recordTargets(service, facts, claimant)
    : claimTargetsOnly(service, facts, claimant);
  const writes = [claimed, ...buildActions(service, claimed, actions)];
  return changeOr(service, writes, { because: FOLLOWING, warnings: [toReason(issue)] }, rejection);
}

/** Returns the first retry, due at the earlier of both times. */
function selectEarlierRetry(one: Retry, other: Retry): Decision {
  return { ...one, afterSeconds: Math.min(one.afterSeconds, other.afterSeconds) };
}

function ensureLoadBalancer(
  service: Service,
  desired: DesiredLoadBalancer,
  step: PossibleStep,
  claimant: Claimant,
): Decision {
  const reference = toReference(SERVICES, service);
  const { now } = claimant;
  const facts = buildAnnotationFacts(desired, getIngress(service), now);
  switch (step.kind) {
    case "act": {
      const afterSeconds = step.once === true ? getCreationRecheckSeconds(service, now) : undefined;
      if (afterSeconds !== undefined) return retry(reference, MAYBE_MADE, afterSeconds);
      const claimed =
        step.onlyTargets === true
          ? claimTargets(service, facts, claimant)
          : claim(service, facts, claimant, step.once);
      const writes = [claimed, ...buildActions(service, claimed, step.actions)];
      return changeOr(
        service,
        writes,
        { because: step.because, events: [ENSURING] },
        leaveUnchanged(reference),
      );
    }
    case "write": {
      // One after the other, because the first may have created what the second one changes.
      const next = claim(service, facts, claimant) ?? planServiceEdit(service, step.edit);
      return changeOr(service, [next], { because: step.because }, waitForCloud(service, step));
    }
    case "wait":
      return changeOr(
        service,
        [writeIdleClaim(service, facts, claimant)],
        { because: step.because },
        waitForCloud(service, step),
      );
    case "handed-over":
      return finishService(
        service,
        desired,
        { ingress: getIngress(service), warnings: step.warnings },
        claimant,
      );
    case "elsewhere":
      return skip(reference, ELSEWHERE);
    case "settled":
      // A load balancer without an address does not serve yet, and does not clear the status.
      return step.ingress.length === 0
        ? retry(reference, NO_ADDRESS, NO_ADDRESS_SECONDS)
        : finishService(
            service,
            desired,
            { ...step, ingress: step.ingress.map(withDefaultIpMode) },
            claimant,
          );
  }
}

function finishService(
  service: Service,
  desired: DesiredLoadBalancer,
  { ingress, warnings, awaits }: Omit<Extract<LoadBalancerStep, { kind: "settled" }>, "kind">,
  claimant: Claimant,
): Decision {
  const making = endClaim(getPreviousClaim(service), claimant);
  const complete = buildAnnotationFacts(desired, ingress, claimant.now);
  const targets = awaits === undefined ? complete.targets : formatAwaitedTargets(complete.targets);
  const facts = { ...complete, targets, ...(making === undefined ? {} : { making }) };
  const events = [
    ...buildEvents(service, desired, facts),
    ...warnings.map((issue) => buildWarning(service, issue)),
  ];
  const because = { code: "LoadBalancerEnsured", message: describeIngress(ingress) };
  const details = { because, events, warnings: warnings.map(toReason) };
  return changeOr(
    service,
    [writeApplied(service, ingress, facts)],
    details,
    awaits === undefined
      ? leaveUnchanged(toReference(SERVICES, service))
      : retryForTargets(service, awaits, claimant.now),
  );
}

const CERTAIN: DeletionVisibility = { kind: "none" };

interface CleanupContext {
  readonly visibility: DeletionVisibility;
  readonly claimant: Claimant;
}

function removeLoadBalancer(
  service: Service,
  step: LoadBalancerStep,
  { visibility, claimant }: CleanupContext,
): Decision {
  const { now } = claimant;
  const reference = toReference(SERVICES, service);
  const otherwise = leaveUnchanged(reference);
  switch (step.kind) {
    case "act": {
      const details = { because: step.because, events: [DELETING] };
      const claimed = claimLeaving(service, claimant);
      return changeOr(
        service,
        [claimed, ...buildActions(service, claimed, step.actions)],
        details,
        otherwise,
      );
    }
    case "write": {
      const writes = [planServiceEdit(service, step.edit)];
      return changeOr(service, writes, { because: step.because }, waitForCloud(service, step));
    }
    case "wait":
      return waitForCloud(service, step);
    case "refused":
      return rejectWithIssue(service, step.issue, now);
    case "elsewhere":
      // Nothing of ours exists here, otherwise the Service would not belong to another controller.
      return changeOr(service, [release(service)], { because: RELEASED }, otherwise);
    case "handed-over":
    case "settled":
      if (step.kind === "settled" && step.ingress.length > 0)
        return retry(reference, SOMETHING_LEFT, SOMETHING_LEFT_SECONDS);
      if (visibility.kind === "unknown-since")
        return changeOr(
          service,
          [writeLeaving(service, visibility.annotation, now)],
          { because: CHECKING_VISIBILITY },
          otherwise,
        );
      if (visibility.kind === "look-again")
        return retry(reference, CHECKING_VISIBILITY, visibility.afterSeconds);
      return changeOr(
        service,
        [step.kind === "handed-over" ? releaseWithoutStatus(service) : release(service)],
        { because: RELEASED, events: [DELETED] },
        otherwise,
      );
  }
}

/** Removes what was created for a Service that cannot have a load balancer. */
function rollBackCreation(
  service: Service,
  annotation: StateAnnotation,
  step: LoadBalancerStep,
  claimant: Claimant,
): Decision {
  const isGone = step.kind === "handed-over" || (step.kind === "settled" && step.ingress.length === 0);
  if (!isGone) return removeLoadBalancer(service, step, { visibility: CERTAIN, claimant });
  const { version: _, uid: __, ...facts } = annotation;
  const rollbackWrite = writeRollback(service, {
    ...facts,
    state: "refused",
    at: claimant.now.toISOString(),
  });
  return changeOr(
    service,
    [rollbackWrite],
    { because: ROLLED_BACK },
    leaveUnchanged(toReference(SERVICES, service)),
  );
}

/** Returns the Events that tell the Service's users what changed. */
function buildEvents(
  service: Service,
  { nodes }: DesiredLoadBalancer,
  facts: AnnotationFacts,
): ClusterEvent[] {
  const previous = parseStateAnnotation(service);
  const isSameState = previous?.desired === facts.desired && previous.ingress === facts.ingress;
  const hasNewTargets = previous?.targets !== facts.targets;
  if (isSameState && !hasNewTargets) return [];
  if (nodes.nodes.length === 0) return [UNAVAILABLE];
  return [isSameState ? UPDATED : ENSURED];
}

function changeOr(
  service: Service,
  writes: readonly (Write | undefined)[],
  details: ChangeDetails,
  otherwise: Decision,
): Decision {
  return change(toReference(SERVICES, service), writes, details) ?? otherwise;
}

function waitForCloud(
  service: Service,
  step: Extract<LoadBalancerStep, { kind: "wait" | "write" }>,
): Decision {
  const because = { code: IN_PROGRESS, message: `${step.because.code}: ${step.because.message}` };
  const afterSeconds = step.kind === "wait" ? step.afterSeconds : NOTHING_WRITTEN_SECONDS;
  return retry(toReference(SERVICES, service), because, afterSeconds);
}

/**
 * Each action is guarded by the content of the Service and by the claim, both as they were at the decision.
 */
function buildActions(
  service: Service,
  claimed: PatchWrite | undefined,
  actions: readonly LoadBalancerAction[],
): CloudAction[] {
  const { uid, generation, deletionTimestamp } = service.metadata;
  const precondition = {
    uid,
    ...(generation === undefined ? {} : { generation }),
    content: hashContent(claimed === undefined ? service : applyOperations(service, claimed.patch)),
    deleting: deletionTimestamp !== undefined,
  };
  return actions.map(({ action, target, parameters }) => ({
    on: "cloud",
    capability: LOAD_BALANCERS,
    action,
    target,
    parameters,
    precondition,
  }));
}

function buildAnnotationFacts(
  { hashes, nodes }: DesiredLoadBalancer,
  ingress: readonly Ingress[],
  now: Date,
): AnnotationFacts {
  return {
    ...hashes,
    state: "applied",
    ingress: hashOfIngress(ingress),
    nodes: nodes.resourceVersion,
    at: now.toISOString(),
  };
}

/** The API server sets a default `ipMode`; without it the status would differ from what we wrote. */
function withDefaultIpMode(ingress: Ingress): Ingress {
  return ingress.ip === undefined || ingress.ipMode !== undefined ? ingress : { ...ingress, ipMode: "VIP" };
}

function describeIngress(ingress: readonly Ingress[]): string {
  if (ingress.length === 0)
    return "the load balancer is there, and the component that writes its status has not done so yet";
  return `the load balancer is at ${ingress.map(({ hostname, ip }) => hostname ?? ip).join(", ")}`;
}

function toReason(issue: Issue): Reason {
  return { code: issue.code, message: describeIssue(issue) };
}

const ENSURING = buildClusterEvent("EnsuringLoadBalancer", "Ensuring", {});
const ENSURED = buildClusterEvent("EnsuredLoadBalancer", "Ensured", {});
const UPDATED = buildClusterEvent("UpdatedLoadBalancer", "Updated", {});
const UNAVAILABLE = buildClusterEvent("UnAvailableLoadBalancer", "NoNodes", {});
const DELETING = buildClusterEvent("DeletingLoadBalancer", "Deleting", {});
const DELETED = buildClusterEvent("DeletedLoadBalancer", "Deleted", {});
const LIMIT = buildClusterEvent("SyncLoadBalancerFailed", "LoadBalancerLimit", {});

/** The delay after a write that changes nothing: its reader sees another value than the one written. */
const NOTHING_WRITTEN_SECONDS = 30;
const NO_ADDRESS_SECONDS = 5;
const NO_ADDRESS: Reason = { code: IN_PROGRESS, message: "the load balancer has no address yet" };
const FOLLOWING: Reason = {
  code: "FollowingNodes",
  message: "the targets follow the nodes; something else that the Service asks for is refused",
};
const SOMETHING_LEFT_SECONDS = 10;
const SOMETHING_LEFT: Reason = { code: IN_PROGRESS, message: "something of the load balancer is left" };
const CHECKING_VISIBILITY: Reason = {
  code: IN_PROGRESS,
  message: "nothing of the load balancer is seen, but what was made last may not be shown yet",
};
const MAYBE_MADE: Reason = {
  code: IN_PROGRESS,
  message: "the load balancer is not seen, but was asked for lately and may not be shown yet",
};
const RELEASED: Reason = { code: "LoadBalancerDeleted", message: "nothing of the load balancer is left" };
const ROLLED_BACK: Reason = {
  code: "LoadBalancerUndone",
  message: "nothing is left of what was made before the cloud refused the rest",
};
const ELSEWHERE: Reason = { code: "Elsewhere", message: "the load balancer is another controller's" };
/** Within these seconds the other actor has finished, or has died and its requests have arrived. */
const YIELDED_SECONDS = 45;
const YIELDED: Reason = {
  code: IN_PROGRESS,
  message: "another actor has claimed the Service in the meantime, and goes on with it",
};
const TO_BE_RECHECKED: Reason = {
  code: IN_PROGRESS,
  message: "all is applied; another actor was at it before, and the cloud is observed once more",
};
const NODES_UNKNOWN: Reason = {
  code: "NodesUnknown",
  message: "the event came without the cluster's nodes",
};
const NODES_STALE: Reason = {
  code: "NodesStale",
  message: "the event's list of nodes is older than the one that was last applied",
};

/** The next listing may grant reservations again. */
const QUOTA_RETRY_SECONDS = 3;
const QUOTA_PENDING: Reason = {
  code: IN_PROGRESS,
  message: "the cluster's load balancers are counted anew before another one is made",
};

function createPortLimitIssue({ bound }: ReachedBound): Issue {
  const detail = `the load balancers of the cluster may have ${bound} ports together (loadBalancers.maxPorts)`;
  return { code: "TooManyClusterPorts", detail };
}

function createShareReason({ name, bound }: ReachedBound): Reason {
  const message = `the cluster may have ${bound} of ${name}, its share of the account's quota; set loadBalancers.max to let it have more`;
  return { code: LIMIT_REACHED, message };
}

function createLimitReason(max: number): Reason {
  const message = `the cluster has its ${max} load balancers (loadBalancers.max); older Services come first`;
  return { code: LIMIT_REACHED, message };
}
