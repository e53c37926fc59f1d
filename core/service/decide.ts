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
  readonly seen: unknown;
  readonly context: DecisionContext;
}

/**
 * Decides on one Service: first the finalizer, then the next step of the cloud's model, then the status. When
 * the Service leaves, the order is reversed. Each decision on the result of the previous one comes closer to
 * `unchanged`.
 */
export function decideService(service: Service, { model, answer, seen, context }: ServiceFacts): Decision {
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
      return refuse(service, phase, { model, answer, seen, context });
    case "applied":
      return finishService(service, phase.desired, { ingress: getIngress(service), warnings: [] }, claimant);
    case "asking": {
      const { desired } = phase;
      if (phase.needsPlace === true) {
        if (answer?.kind !== "observed") return retryUnanswered(service, answer, now, desired);
        // A load balancer that the cloud shows as the cluster's counts against the quota, whatever its creator.
        if (model.isVisible?.(desired.question, seen, settings) !== true)
          return retry(reference, createLimitReason(limitLoadBalancers(settings.loadBalancers)), 60, [LIMIT]);
      }
      const kept = isLosingLastTarget(service, desired, model)
        ? keepLastTarget(service, model, context)
        : undefined;
      if (kept !== undefined) return kept;
      if (answer?.kind !== "observed") return retryUnanswered(service, answer, now, desired);
      const step = model.planStep(desired.question, answer.state, settings);
      if (step.kind === "act") {
        const lost = { question: desired.question, observed: answer.state, model };
        const waits =
          keepListedTargets(lost, context) ??
          waitForReservation(service, desired, { model, answer, seen, context });
        if (waits !== undefined) return waits;
      }
      if (step.kind !== "refused") return ensure(service, desired, step, claimant);
      return refuse(service, { desired, issue: step.issue }, { model, answer, seen, context });
    }
    case "leaving": {
      if (answer?.kind !== "observed") return retryUnanswered(service, answer, now);
      const { question } = phase;
      const isShown = model.isVisible?.(question, seen, settings) ?? true;
      const uncertainty = checkDeletionVisibility(
        service,
        { isShown, showsAtOnce: model.isImmediatelyVisible === true },
        claimant,
      );
      return clear(service, model.planStep(question, answer.state, settings), {
        doubt: uncertainty,
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
  const { model, seen, context } = facts;
  const { reservations: places, settings, now } = context;
  if (places === undefined || places.kind === "uncounted") return undefined;
  if (measureReservation(desired.question, seen, { model, settings }) === undefined) return undefined;
  if (places.kind === "unknown") return retryUnanswered(service, places, now, desired);
  const { uid } = service.metadata;
  if (places.granted.has(uid)) return undefined;
  const reached = places.full.get(uid);
  const reference = toReference(SERVICES, service);
  if (reached === undefined) return retry(reference, QUOTA_PENDING, QUOTA_RETRY_SECONDS);
  // A load balancer that serves stays, and follows the nodes.
  if (reached.name === LISTENER_COUNT)
    return refuse(service, { desired, issue: createPortLimitIssue(reached) }, facts);
  const because =
    reached.name === LOAD_BALANCER_COUNT ? createLimitReason(reached.bound) : createShareReason(reached);
  return retry(reference, because, 60, [LIMIT]);
}

/** Reports why the Service is refused. An existing load balancer still follows the nodes. */
function refuse(
  service: Service,
  { issue, desired, dueInSeconds }: Omit<Extract<Phase, { readonly kind: "refused" }>, "kind">,
  { model, answer, context }: ServiceFacts,
): Decision {
  const { settings, now } = context;
  const claimant = getClaimant(context);
  const refused = rejectWithIssue(service, issue, now);
  const afterSeconds = Math.min(refused.afterSeconds, dueInSeconds ?? refused.afterSeconds);
  const told = { ...refused, afterSeconds };
  if (desired === undefined || !canFollowNodes(desired.question, model)) return told;
  if (answer?.kind !== "observed") return selectEarlierRetry(told, retryUnanswered(service, answer, now));
  const question = { ...desired.question, onlyTargets: true } as const;
  const actions = model.followNodes?.(question, answer.state, settings);
  if (actions === undefined) return told;
  if ("kind" in actions) return { ...told, afterSeconds: Math.min(afterSeconds, actions.afterSeconds) };
  const facts = buildAnnotationFacts(desired, getIngress(service), now);
  const isDone = actions.length === 0;
  const lost = { question, observed: answer.state, model };
  const kept = isDone ? undefined : keepListedTargets(lost, context);
  if (kept !== undefined) return selectEarlierRetry(told, kept);
  const claimed = isDone
    ? recordTargets(service, facts, claimant)
    : claimTargetsOnly(service, facts, claimant);
  const writes = [claimed, ...buildActions(service, claimed, actions)];
  return changeOr(service, writes, { because: FOLLOWING, warnings: [toReason(issue)] }, told);
}

/** Returns the first retry, due at the earlier of both times. */
function selectEarlierRetry(one: Retry, other: Retry): Decision {
  return { ...one, afterSeconds: Math.min(one.afterSeconds, other.afterSeconds) };
}

function ensure(
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
  const whole = buildAnnotationFacts(desired, ingress, claimant.now);
  const targets = awaits === undefined ? whole.targets : formatAwaitedTargets(whole.targets);
  const facts = { ...whole, targets, ...(making === undefined ? {} : { making }) };
  const events = [
    ...buildEvents(service, desired, facts),
    ...warnings.map((issue) => buildWarning(service, issue)),
  ];
  const because = { code: "LoadBalancerEnsured", message: describeIngress(ingress) };
  const about = { because, events, warnings: warnings.map(toReason) };
  return changeOr(
    service,
    [writeApplied(service, ingress, facts)],
    about,
    awaits === undefined
      ? leaveUnchanged(toReference(SERVICES, service))
      : retryForTargets(service, awaits, claimant.now),
  );
}

const CERTAIN: DeletionVisibility = { kind: "none" };

interface CleanupContext {
  readonly doubt: DeletionVisibility;
  readonly claimant: Claimant;
}

function clear(service: Service, step: LoadBalancerStep, { doubt, claimant }: CleanupContext): Decision {
  const { now } = claimant;
  const reference = toReference(SERVICES, service);
  const otherwise = leaveUnchanged(reference);
  switch (step.kind) {
    case "act": {
      const about = { because: step.because, events: [DELETING] };
      const claimed = claimLeaving(service, claimant);
      return changeOr(service, [claimed, ...buildActions(service, claimed, step.actions)], about, otherwise);
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
      if (doubt.kind === "unknown-since")
        return changeOr(
          service,
          [writeLeaving(service, doubt.mark, now)],
          { because: CHECKING_VISIBILITY },
          otherwise,
        );
      if (doubt.kind === "look-again") return retry(reference, CHECKING_VISIBILITY, doubt.afterSeconds);
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
  mark: StateAnnotation,
  step: LoadBalancerStep,
  claimant: Claimant,
): Decision {
  const isGone = step.kind === "handed-over" || (step.kind === "settled" && step.ingress.length === 0);
  if (!isGone) return clear(service, step, { doubt: CERTAIN, claimant });
  const { version: _, uid: __, ...facts } = mark;
  const given = writeRollback(service, { ...facts, state: "refused", at: claimant.now.toISOString() });
  return changeOr(service, [given], { because: ROLLED_BACK }, leaveUnchanged(toReference(SERVICES, service)));
}

/** Returns the Events that tell the Service's users what changed. */
function buildEvents(
  service: Service,
  { nodes }: DesiredLoadBalancer,
  facts: AnnotationFacts,
): ClusterEvent[] {
  const before = parseStateAnnotation(service);
  const isSame = before?.desired === facts.desired && before.ingress === facts.ingress;
  const hasNewTargets = before?.targets !== facts.targets;
  if (isSame && !hasNewTargets) return [];
  if (nodes.nodes.length === 0) return [UNAVAILABLE];
  return [isSame ? UPDATED : ENSURED];
}

function changeOr(
  service: Service,
  writes: readonly (Write | undefined)[],
  about: ChangeDetails,
  otherwise: Decision,
): Decision {
  return change(toReference(SERVICES, service), writes, about) ?? otherwise;
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
