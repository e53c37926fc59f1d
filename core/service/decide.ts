import { tell } from "#core/cluster-events.ts";
import type { DecisionContext } from "#core/controller.ts";
import type { Because, CloudAction, ClusterEvent, Decision, PatchWrite, Write } from "#core/decision.ts";
import { type About, change, referenceTo, retry, skip, unchanged } from "#core/decisions.ts";
import { patched } from "#core/json-patch.ts";
import { SERVICES } from "#core/resources/resource.ts";
import { type Claimant, endClaim } from "#core/service/claims.ts";
import { type Doubt, doubtOf, secondsOfMaking } from "#core/service/doubt.ts";
import { keepLastTarget, losesLastTarget } from "#core/service/empty-targets.ts";
import { keepListedTargets } from "#core/service/lost-targets.ts";
import { awaitedTargets, type Mark, markOf } from "#core/service/mark.ts";
import {
  LOAD_BALANCERS,
  type LoadBalancerAction,
  type LoadBalancerAnswer,
  type LoadBalancerModel,
  type LoadBalancerStep,
  type PossibleStep,
  type Problem,
} from "#core/service/model.ts";
import { hashContent, hashOfIngress, ingressOf } from "#core/service/needs-work.ts";
import { LISTENER_COUNT, LOAD_BALANCER_COUNT, type ReachedBound } from "#core/service/places.ts";
import { IN_PROGRESS, LIMIT_REACHED } from "#core/service/problems.ts";
import type { Ingress, Service } from "#core/service/service.ts";
import {
  canFollowNodes,
  claimantIn,
  placeTaken,
  type Standing,
  standingOf,
  type Wish,
} from "#core/service/standing.ts";
import {
  awaitingTargets,
  type Retry,
  refusal,
  sentenceOf,
  unanswered,
  warningOf,
} from "#core/service/trouble.ts";
import {
  claim,
  claimedBefore,
  claimLeaving,
  claimTargets,
  claimTargetsOnly,
  edited,
  giveUp,
  leave,
  letGo,
  type MarkFacts,
  recordTargets,
  release,
  rest,
  settle,
} from "#core/service/writes.ts";
import { limitLoadBalancers } from "#core/settings.ts";

/** What a decision on one Service depends on beside it. */
export interface ServiceFacts {
  readonly model: LoadBalancerModel;
  /** The cloud's, with what was done since; undefined where it was not asked. */
  readonly answer: LoadBalancerAnswer | undefined;
  /** What the cloud itself answered. */
  readonly seen: unknown;
  readonly context: DecisionContext;
}

/**
 * Decides on one Service: first the finalizer, then what the cloud's model says is next, then the status; and the other way round
 * when it leaves. Deciding again on what came of a change gives what comes next, and in the end `unchanged`.
 */
export function decideService(service: Service, { model, answer, seen, context }: ServiceFacts): Decision {
  const { settings, now } = context;
  const claimant = claimantIn(context);
  const reference = referenceTo(SERVICES, service);
  const standing = standingOf(service, model, context);
  switch (standing.kind) {
    case "none":
      return unchanged(reference);
    case "elsewhere":
      return skip(reference, ELSEWHERE);
    case "unknown-nodes":
      return retry(reference, NODES_UNKNOWN, 5);
    case "stale-nodes":
      return retry(reference, NODES_STALE, 2);
    case "no-turn":
      return retry(reference, noTurn(limitLoadBalancers(settings.loadBalancers)), 60, [LIMIT]);
    case "yielding":
      return retry(reference, YIELDED, YIELDED_SECONDS);
    case "rechecking":
      return retry(reference, TO_BE_RECHECKED, standing.afterSeconds);
    case "refused":
      return refuse(service, standing, { model, answer, seen, context });
    case "applied":
      return settled(service, standing.wish, { ingress: ingressOf(service), warnings: [] }, claimant);
    case "asking": {
      const { wish } = standing;
      if (standing.needsPlace === true) {
        if (answer?.kind !== "observed") return unanswered(service, answer, now, wish);
        // A load balancer that the cloud shows as the cluster's holds a place, whoever made it.
        if (model.shows?.(wish.question, seen, settings) !== true)
          return retry(reference, noTurn(limitLoadBalancers(settings.loadBalancers)), 60, [LIMIT]);
      }
      const kept = losesLastTarget(service, wish, model)
        ? keepLastTarget(service, model, context)
        : undefined;
      if (kept !== undefined) return kept;
      if (answer?.kind !== "observed") return unanswered(service, answer, now, wish);
      const step = model.next(wish.question, answer.state, settings);
      if (step.kind === "act") {
        const lost = { question: wish.question, observed: answer.state, model };
        const waits =
          keepListedTargets(lost, context) ?? waitForPlace(service, wish, { model, answer, seen, context });
        if (waits !== undefined) return waits;
      }
      if (step.kind !== "refused") return ensure(service, wish, step, claimant);
      return refuse(service, { wish, problem: step.problem }, { model, answer, seen, context });
    }
    case "leaving": {
      if (answer?.kind !== "observed") return unanswered(service, answer, now);
      const { question } = standing;
      const isShown = model.shows?.(question, seen, settings) ?? true;
      const doubt = doubtOf(service, { isShown, showsAtOnce: model.showsAtOnce === true }, claimant);
      return clear(service, model.next(question, answer.state, settings), { doubt, claimant });
    }
    case "undoing": {
      if (answer?.kind !== "observed") return unanswered(service, answer, now);
      return undo(service, standing.mark, model.next(standing.question, answer.state, settings), claimant);
    }
  }
}

/** What is done in place of making what there is no place for, a load balancer or listeners of one; undefined where there is one. */
function waitForPlace(service: Service, wish: Wish, facts: ServiceFacts): Decision | undefined {
  const { model, seen, context } = facts;
  const { places, settings, now } = context;
  if (places === undefined || places.kind === "uncounted") return undefined;
  if (placeTaken(wish.question, seen, { model, settings }) === undefined) return undefined;
  if (places.kind === "unknown") return unanswered(service, places, now, wish);
  const { uid } = service.metadata;
  if (places.granted.has(uid)) return undefined;
  const reached = places.full.get(uid);
  const reference = referenceTo(SERVICES, service);
  if (reached === undefined) return retry(reference, PLACES_OPEN, PLACES_SECONDS);
  // What is served stays, and follows the nodes.
  if (reached.name === LISTENER_COUNT)
    return refuse(service, { wish, problem: portsReached(reached) }, facts);
  const because = reached.name === LOAD_BALANCER_COUNT ? noTurn(reached.bound) : noShare(reached);
  return retry(reference, because, 60, [LIMIT]);
}

/** Tells what is refused of a Service, and lets a load balancer that is there follow the nodes all the same. */
function refuse(
  service: Service,
  { problem, wish, dueInSeconds }: Omit<Extract<Standing, { readonly kind: "refused" }>, "kind">,
  { model, answer, context }: ServiceFacts,
): Decision {
  const { settings, now } = context;
  const claimant = claimantIn(context);
  const refused = refusal(service, problem, now);
  const afterSeconds = Math.min(refused.afterSeconds, dueInSeconds ?? refused.afterSeconds);
  const told = { ...refused, afterSeconds };
  if (wish === undefined || !canFollowNodes(wish.question, model)) return told;
  if (answer?.kind !== "observed") return sooner(told, unanswered(service, answer, now));
  const question = { ...wish.question, onlyTargets: true } as const;
  const actions = model.followNodes?.(question, answer.state, settings);
  if (actions === undefined) return told;
  if ("kind" in actions) return { ...told, afterSeconds: Math.min(afterSeconds, actions.afterSeconds) };
  const facts = factsOf(wish, ingressOf(service), now);
  const isDone = actions.length === 0;
  const lost = { question, observed: answer.state, model };
  const kept = isDone ? undefined : keepListedTargets(lost, context);
  if (kept !== undefined) return sooner(told, kept);
  const claimed = isDone
    ? recordTargets(service, facts, claimant)
    : claimTargetsOnly(service, facts, claimant);
  const writes = [claimed, ...actionsOf(service, claimed, actions)];
  return changeOr(service, writes, { because: FOLLOWING, warnings: [becauseOf(problem)] }, told);
}

/** The first retry, due when the sooner of the two is. */
function sooner(one: Retry, other: Retry): Decision {
  return { ...one, afterSeconds: Math.min(one.afterSeconds, other.afterSeconds) };
}

function ensure(service: Service, wish: Wish, step: PossibleStep, claimant: Claimant): Decision {
  const reference = referenceTo(SERVICES, service);
  const { now } = claimant;
  const facts = factsOf(wish, ingressOf(service), now);
  switch (step.kind) {
    case "act": {
      const afterSeconds = step.once === true ? secondsOfMaking(service, now) : undefined;
      if (afterSeconds !== undefined) return retry(reference, MAYBE_MADE, afterSeconds);
      const claimed =
        step.onlyTargets === true
          ? claimTargets(service, facts, claimant)
          : claim(service, facts, claimant, step.once);
      const writes = [claimed, ...actionsOf(service, claimed, step.actions)];
      return changeOr(service, writes, { because: step.because, events: [ENSURING] }, unchanged(reference));
    }
    case "write": {
      // One after the other: what the second one changes the first one may have made.
      const next = claim(service, facts, claimant) ?? edited(service, step.edit);
      return changeOr(service, [next], { because: step.because }, waiting(service, step));
    }
    case "wait":
      return changeOr(
        service,
        [rest(service, facts, claimant)],
        { because: step.because },
        waiting(service, step),
      );
    case "handed-over":
      return settled(service, wish, { ingress: ingressOf(service), warnings: step.warnings }, claimant);
    case "elsewhere":
      return skip(reference, ELSEWHERE);
    case "settled":
      // A load balancer without an address is none yet, and what stands in the status is not cleared for it.
      return step.ingress.length === 0
        ? retry(reference, NO_ADDRESS, NO_ADDRESS_SECONDS)
        : settled(service, wish, { ...step, ingress: step.ingress.map(explicit) }, claimant);
  }
}

function settled(
  service: Service,
  wish: Wish,
  { ingress, warnings, awaits }: Omit<Extract<LoadBalancerStep, { kind: "settled" }>, "kind">,
  claimant: Claimant,
): Decision {
  const making = endClaim(claimedBefore(service), claimant);
  const whole = factsOf(wish, ingress, claimant.now);
  const targets = awaits === undefined ? whole.targets : awaitedTargets(whole.targets);
  const facts = { ...whole, targets, ...(making === undefined ? {} : { making }) };
  const events = [
    ...eventsOf(service, wish, facts),
    ...warnings.map((problem) => warningOf(service, problem)),
  ];
  const because = { code: "LoadBalancerEnsured", message: sentenceOfIngress(ingress) };
  const about = { because, events, warnings: warnings.map(becauseOf) };
  return changeOr(
    service,
    [settle(service, ingress, facts)],
    about,
    awaits === undefined
      ? unchanged(referenceTo(SERVICES, service))
      : awaitingTargets(service, awaits, claimant.now),
  );
}

const CERTAIN: Doubt = { kind: "none" };

interface Leaving {
  readonly doubt: Doubt;
  readonly claimant: Claimant;
}

function clear(service: Service, step: LoadBalancerStep, { doubt, claimant }: Leaving): Decision {
  const { now } = claimant;
  const reference = referenceTo(SERVICES, service);
  const otherwise = unchanged(reference);
  switch (step.kind) {
    case "act": {
      const about = { because: step.because, events: [DELETING] };
      const claimed = claimLeaving(service, claimant);
      return changeOr(service, [claimed, ...actionsOf(service, claimed, step.actions)], about, otherwise);
    }
    case "write": {
      const writes = [edited(service, step.edit)];
      return changeOr(service, writes, { because: step.because }, waiting(service, step));
    }
    case "wait":
      return waiting(service, step);
    case "refused":
      return refusal(service, step.problem, now);
    case "elsewhere":
      // Nothing of ours is there, or it would not be another's.
      return changeOr(service, [release(service)], { because: RELEASED }, otherwise);
    case "handed-over":
    case "settled":
      if (step.kind === "settled" && step.ingress.length > 0)
        return retry(reference, SOMETHING_LEFT, SOMETHING_LEFT_SECONDS);
      if (doubt.kind === "unknown-since")
        return changeOr(service, [leave(service, doubt.mark, now)], { because: LOOKED_FOR }, otherwise);
      if (doubt.kind === "look-again") return retry(reference, LOOKED_FOR, doubt.afterSeconds);
      return changeOr(
        service,
        [step.kind === "handed-over" ? letGo(service) : release(service)],
        { because: RELEASED, events: [DELETED] },
        otherwise,
      );
  }
}

/** Takes away what was made of a Service that wants a load balancer and cannot have it. */
function undo(service: Service, mark: Mark, step: LoadBalancerStep, claimant: Claimant): Decision {
  const isGone = step.kind === "handed-over" || (step.kind === "settled" && step.ingress.length === 0);
  if (!isGone) return clear(service, step, { doubt: CERTAIN, claimant });
  const { version: _, uid: __, ...facts } = mark;
  const given = giveUp(service, { ...facts, state: "refused", at: claimant.now.toISOString() });
  return changeOr(service, [given], { because: UNDONE }, unchanged(referenceTo(SERVICES, service)));
}

/** What has changed for whoever looks at the Service. */
function eventsOf(service: Service, { nodes }: Wish, facts: MarkFacts): ClusterEvent[] {
  const before = markOf(service);
  const isSame = before?.desired === facts.desired && before.ingress === facts.ingress;
  const hasNewTargets = before?.targets !== facts.targets;
  if (isSame && !hasNewTargets) return [];
  if (nodes.nodes.length === 0) return [UNAVAILABLE];
  return [isSame ? UPDATED : ENSURED];
}

function changeOr(
  service: Service,
  writes: readonly (Write | undefined)[],
  about: About,
  otherwise: Decision,
): Decision {
  return change(referenceTo(SERVICES, service), writes, about) ?? otherwise;
}

function waiting(service: Service, step: Extract<LoadBalancerStep, { kind: "wait" | "write" }>): Decision {
  const because = { code: IN_PROGRESS, message: `${step.because.code}: ${step.because.message}` };
  const afterSeconds = step.kind === "wait" ? step.afterSeconds : NOTHING_WRITTEN_SECONDS;
  return retry(referenceTo(SERVICES, service), because, afterSeconds);
}

/** Each is guarded by what the Service was when it was decided, and by the claim that was written on it then. */
function actionsOf(
  service: Service,
  claimed: PatchWrite | undefined,
  actions: readonly LoadBalancerAction[],
): CloudAction[] {
  const { uid, generation, deletionTimestamp } = service.metadata;
  const precondition = {
    uid,
    ...(generation === undefined ? {} : { generation }),
    content: hashContent(claimed === undefined ? service : patched(service, claimed.patch)),
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

function factsOf({ hashes, nodes }: Wish, ingress: readonly Ingress[], now: Date): MarkFacts {
  return {
    ...hashes,
    state: "applied",
    ingress: hashOfIngress(ingress),
    nodes: nodes.resourceVersion,
    at: now.toISOString(),
  };
}

/** Of an address the API server says how it is to be used, where nobody does: then the status would differ from what we wrote. */
function explicit(ingress: Ingress): Ingress {
  return ingress.ip === undefined || ingress.ipMode !== undefined ? ingress : { ...ingress, ipMode: "VIP" };
}

function sentenceOfIngress(ingress: readonly Ingress[]): string {
  if (ingress.length === 0) return "the load balancer is there, and whoever writes its status has not yet";
  return `the load balancer is at ${ingress.map(({ hostname, ip }) => hostname ?? ip).join(", ")}`;
}

function becauseOf(problem: Problem): Because {
  return { code: problem.code, message: sentenceOf(problem) };
}

const ENSURING = tell("EnsuringLoadBalancer", "Ensuring", {});
const ENSURED = tell("EnsuredLoadBalancer", "Ensured", {});
const UPDATED = tell("UpdatedLoadBalancer", "Updated", {});
const UNAVAILABLE = tell("UnAvailableLoadBalancer", "NoNodes", {});
const DELETING = tell("DeletingLoadBalancer", "Deleting", {});
const DELETED = tell("DeletedLoadBalancer", "Deleted", {});
const LIMIT = tell("SyncLoadBalancerFailed", "LoadBalancerLimit", {});

/** A write that changes nothing: what asks for it reads something else than what was written. */
const NOTHING_WRITTEN_SECONDS = 30;
const NO_ADDRESS_SECONDS = 5;
const NO_ADDRESS: Because = { code: IN_PROGRESS, message: "the load balancer has no address yet" };
const FOLLOWING: Because = {
  code: "FollowingNodes",
  message: "the targets follow the nodes; something else that the Service asks for is refused",
};
const SOMETHING_LEFT_SECONDS = 10;
const SOMETHING_LEFT: Because = { code: IN_PROGRESS, message: "something of the load balancer is left" };
const LOOKED_FOR: Because = {
  code: IN_PROGRESS,
  message: "nothing of the load balancer is seen, but what was made last may not be shown yet",
};
const MAYBE_MADE: Because = {
  code: IN_PROGRESS,
  message: "the load balancer is not seen, but was asked for lately and may not be shown yet",
};
const RELEASED: Because = { code: "LoadBalancerDeleted", message: "nothing of the load balancer is left" };
const UNDONE: Because = {
  code: "LoadBalancerUndone",
  message: "nothing is left of what was made before the cloud refused the rest",
};
const ELSEWHERE: Because = { code: "Elsewhere", message: "the load balancer is another controller's" };
/** By then the other actor is done, or has died with its requests. */
const YIELDED_SECONDS = 45;
const YIELDED: Because = {
  code: IN_PROGRESS,
  message: "another actor has claimed the Service in the meantime, and goes on with it",
};
const TO_BE_RECHECKED: Because = {
  code: IN_PROGRESS,
  message: "all is applied; another actor was at it before, and the cloud is observed once more",
};
const NODES_UNKNOWN: Because = {
  code: "NodesUnknown",
  message: "the event came without the cluster's nodes",
};
const NODES_STALE: Because = {
  code: "NodesStale",
  message: "the event's list of nodes is older than the one that was last applied",
};

/** Places are granted again on the next listing. */
const PLACES_SECONDS = 3;
const PLACES_OPEN: Because = {
  code: IN_PROGRESS,
  message: "the cluster's load balancers are counted anew before another one is made",
};

function portsReached({ bound }: ReachedBound): Problem {
  const detail = `the load balancers of the cluster may have ${bound} ports together (loadBalancers.maxPorts)`;
  return { code: "TooManyClusterPorts", detail };
}

function noShare({ name, bound }: ReachedBound): Because {
  const message = `the cluster may have ${bound} of ${name}, its share of the account's quota; set loadBalancers.max to let it have more`;
  return { code: LIMIT_REACHED, message };
}

function noTurn(max: number): Because {
  const message = `the cluster has its ${max} load balancers (loadBalancers.max); older Services come first`;
  return { code: LIMIT_REACHED, message };
}
