import type { AskContext } from "#core/controller.ts";
import { hashText } from "#core/hash.ts";
import {
  type Claimant,
  getSecondsUntilRecheck,
  isHeldByAnother,
  isLatelyHeldByAnother,
  UNNAMED_ACTOR,
} from "#core/service/claims.ts";
import { countHolders, isNextForCreation } from "#core/service/creation-order.ts";
import { isSharedLimit, toIssueCode } from "#core/service/issues.ts";
import type { Issue, LoadBalancerModel, LoadBalancerQuestion } from "#core/service/model.ts";
import {
  getIngress,
  hasFinalizer,
  hashIngress,
  hashObservedService,
  hasLostType,
  needsCleanup,
  needsLoadBalancer,
} from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";
import { getMaxLoadBalancers } from "#core/service/settings.ts";
import {
  isGivenUp,
  parseStateAnnotation,
  readHolders,
  type StateAnnotation,
} from "#core/service/state-annotation.ts";
import {
  isOlderThanApplied,
  isOlderVersion,
  selectTargetNodes,
  type TargetNodes,
} from "#core/service/target-nodes.ts";

/** The phase of a Service, known before the cloud is asked. It decides whether and what the cloud is asked. */
export type Phase =
  /** It neither requests a load balancer nor has one of ours. */
  | { readonly kind: "none" }
  /** It belongs to another controller. */
  | { readonly kind: "foreign" }
  /** The event lacks the list of nodes. */
  | { readonly kind: "unknown-nodes" }
  /** The event lacks the other Services, so it does not show whether the cluster has room for a load balancer. */
  | { readonly kind: "unknown-services" }
  /** The nodes come from an older list than those applied last. */
  | { readonly kind: "stale-nodes" }
  /** The cluster has reached its limit of load balancers, and older Services come first. */
  | { readonly kind: "over-limit" }
  /**
   * Its request is rejected. `desired` is set if the Service has a load balancer whose targets may have changed: then
   * the cloud is asked.
   */
  | {
      readonly kind: "rejected";
      readonly issue: Issue;
      readonly desired?: DesiredLoadBalancer | undefined;
      /** For a rejection that the annotation records: seconds until the request is retried at the latest. */
      readonly dueInSeconds?: number | undefined;
    }
  /** The cloud rejected the request, and the Service's resources are being removed. */
  | {
      readonly kind: "undoing";
      readonly question: LoadBalancerQuestion;
      readonly annotation: StateAnnotation;
    }
  /** Another actor claimed it during this actor's work, and continues with the current desired state. */
  | { readonly kind: "yielding" }
  /**
   * The desired state was applied after a take-over. Requests of the earlier actor may still arrive, so the
   * cloud is observed once more later.
   */
  | { readonly kind: "rechecking"; readonly afterSeconds: number }
  /** The desired state was applied; the cloud is not asked. */
  | { readonly kind: "applied"; readonly desired: DesiredLoadBalancer }
  /**
   * `withoutRoom` is set if the cluster has reached its limit, or if that is unknown. A load balancer that the cloud
   * shows then stays, and no new one is created.
   */
  | {
      readonly kind: "asking";
      readonly desired: DesiredLoadBalancer;
      readonly withoutRoom?: WithoutRoom | undefined;
    }
  /** The Service needs no load balancer any more: its resources in the cloud are removed. */
  | { readonly kind: "leaving"; readonly question: LoadBalancerQuestion };

/** The phases of a Service that may not get its first load balancer now. */
export type WithoutRoom = { readonly kind: "over-limit" | "unknown-services" };

/** The load balancer that a Service requests, and the hashes to record in the state annotation. */
export interface DesiredLoadBalancer {
  readonly question: LoadBalancerQuestion;
  readonly hashes: Pick<StateAnnotation, "seen" | "desired" | "targets">;
  readonly nodes: TargetNodes;
}

/** Returns the phase of a Service. It does not depend on the cloud, so it is the same before and after the answer. */
export function decidePhase(service: Service, model: LoadBalancerModel, context: AskContext): Phase {
  if (needsLoadBalancer(service, context.settings)) return decideDesiredPhase(service, model, context);
  if (!needsCleanup(service, context.settings)) return { kind: "none" };
  // A deleted Service gets no load balancer again, so it needs no yielding.
  if (hasLostType(service) && isYielding(parseStateAnnotation(service), context)) return { kind: "yielding" };
  // The Service may now name another controller: our resources in the cloud are removed nevertheless.
  return { kind: "leaving", question: { service, wanted: false, nodes: [] } };
}

function isYielding(annotation: StateAnnotation | undefined, context: AskContext): boolean {
  return context.conflict !== undefined && isLatelyHeldByAnother(annotation, getClaimant(context));
}

/** Returns the actor of a decision, and its time. */
export function getClaimant({ actor = UNNAMED_ACTOR, now }: AskContext): Claimant {
  return { actor, now };
}

function decideDesiredPhase(service: Service, model: LoadBalancerModel, context: AskContext): Phase {
  const { related, settings, now, reason } = context;
  const nodes = selectTargetNodes(related);
  if (nodes === undefined) return { kind: "unknown-nodes" };
  const annotation = parseStateAnnotation(service);
  if (annotation !== undefined && isOlderThanApplied(nodes, annotation, now)) return { kind: "stale-nodes" };
  // An actor with newer nodes than the other actor does not yield.
  if (isYielding(annotation, context) && !isOlderVersion(annotation?.nodes, nodes.resourceVersion))
    return { kind: "yielding" };
  const question: LoadBalancerQuestion = { service, wanted: true, nodes: nodes.nodes };
  const precheck = model.precheck(question, settings);
  if (precheck?.kind === "refused")
    return decideRejectedPhase(question, precheck.issue, { model, annotation, nodes, context });
  if (precheck !== undefined) return precheck;
  const hasRoom = isNextForCreation(service, related, getMaxLoadBalancers(settings.loadBalancers), settings);
  const withoutRoom: WithoutRoom | undefined =
    hasRoom === true ? undefined : { kind: hasRoom === false ? "over-limit" : "unknown-services" };
  if (withoutRoom !== undefined && !isPossibleTakeover(service, model)) return withoutRoom;
  const hashes = buildHashes(service, model, nodes, settings);
  if (annotation?.desired === hashes.desired && isGivenUp(annotation)) {
    if (annotation.state === "undoing")
      return { kind: "undoing", question: { service, wanted: false, nodes: [] }, annotation };
    const dueInSeconds = getSecondsUntilDue(annotation, service, context);
    if (dueInSeconds > 0)
      return { kind: "rejected", issue: parseRejectedIssue(annotation, service), dueInSeconds };
  }
  const isApplied =
    hasFinalizer(service) &&
    annotation?.state === "applied" &&
    !isHeldByAnother(annotation, getClaimant(context).actor) &&
    annotation.desired === hashes.desired &&
    annotation.ingress === hashIngress(getIngress(service));
  const needsFullCheck = isFullCheckDue(service, reason, now);
  // The state that another actor recorded as applied may be older than this actor's later changes.
  const mayBeOutdated = context.conflict?.hasWritten === true;
  const recheckSeconds = getSecondsUntilRecheck(annotation, now);
  const asking: Phase = { kind: "asking", desired: { question, hashes, nodes }, withoutRoom };
  if (!isApplied || needsFullCheck || mayBeOutdated || recheckSeconds === 0) return asking;
  if (recheckSeconds !== undefined)
    return annotation.targets === hashes.targets
      ? { kind: "rechecking", afterSeconds: recheckSeconds }
      : asking;
  const onlyTargets: DesiredLoadBalancer = { question: { ...question, onlyTargets: true }, hashes, nodes };
  return { kind: annotation.targets === hashes.targets ? "applied" : "asking", desired: onlyTargets };
}

/**
 * Returns whether the Service may already have a load balancer, ours or another controller's. Then the cloud is
 * asked. False if the model cannot tell whether the cloud shows one.
 */
function isPossibleTakeover(service: Service, model: LoadBalancerModel): boolean {
  return model.isVisible !== undefined && (hasFinalizer(service) || getIngress(service).length > 0);
}

/** The inputs of the phase of a Service with a rejected request, besides the question and the issue. */
interface PhaseInputs {
  readonly model: LoadBalancerModel;
  readonly annotation: StateAnnotation | undefined;
  readonly nodes: TargetNodes;
  readonly context: AskContext;
}

/**
 * Returns the phase of a Service with a rejected request. An existing load balancer still follows the nodes:
 * the cloud is asked when the targets differ from those applied last, and in a full check. An empty list of
 * targets is never applied this way.
 */
function decideRejectedPhase(
  question: LoadBalancerQuestion,
  issue: Issue,
  { model, annotation, nodes, context }: PhaseInputs,
): Phase {
  const { settings, reason, now } = context;
  const { service } = question;
  const rejected = { kind: "rejected", issue } as const;
  if (!canFollowNodes(question, model) || !isServed(service, annotation)) return rejected;
  const hashes = buildHashes(service, model, nodes, settings);
  // Requests of another actor may have changed the targets, or may still arrive.
  const areTargetsUncertain =
    isHeldByAnother(annotation, getClaimant(context).actor) ||
    getSecondsUntilRecheck(annotation, now) !== undefined;
  if (annotation?.targets === hashes.targets && !areTargetsUncertain && !isFullCheckDue(service, reason, now))
    return rejected;
  return { ...rejected, desired: { question: { ...question, onlyTargets: true }, hashes, nodes } };
}

/**
 * Returns whether a load balancer can follow the nodes while the Service is rejected: the model supports it, and at
 * least one node can be a target.
 */
export function canFollowNodes({ service, nodes }: LoadBalancerQuestion, model: LoadBalancerModel): boolean {
  return (
    model.followNodes !== undefined && nodes.some((node) => model.getTarget(node, service) !== undefined)
  );
}

/**
 * Returns whether the Service has a load balancer, as far as its annotation and status show. The claim of a first
 * creation does not count: nothing was applied yet.
 */
function isServed(service: Service, annotation: StateAnnotation | undefined): boolean {
  if (annotation !== undefined && isGivenUp(annotation)) return false;
  return (annotation?.desired ?? "") !== "" || getIngress(service).length > 0;
}

function buildHashes(
  service: Service,
  model: LoadBalancerModel,
  nodes: TargetNodes,
  settings: AskContext["settings"],
): DesiredLoadBalancer["hashes"] {
  return {
    seen: hashObservedService(service, settings),
    desired: hashText(model.describeDesired(service, settings)),
    targets: hashText(JSON.stringify(listTargets(nodes, model, service))),
  };
}

function isFullCheckDue(service: Service, reason: AskContext["reason"], now: Date): boolean {
  return reason === "refresh" || (reason === "sweep" && isFullCheckMinute(service, now));
}

function listTargets({ nodes }: TargetNodes, model: LoadBalancerModel, service: Service): readonly string[] {
  return [...new Set(nodes.flatMap((node) => model.getTarget(node, service) ?? []))].sort();
}

/**
 * Seconds until a rejected Service without changes is retried. A retry may create resources, which cost money
 * until they are rolled back.
 */
const REJECTED_SECONDS = 3_600;
/** Seconds until a retry at a limit that Services share, which may have room again at any time. */
const SHARED_LIMIT_SECONDS = 240;

/**
 * Returns the seconds until a rejected Service is retried. 0 if a shared limit was the reason and another Service has
 * lost its load balancer since.
 */
function getSecondsUntilDue(
  annotation: StateAnnotation,
  service: Service,
  { related, now }: AskContext,
): number {
  const isShared = isSharedLimit(annotation.refused ?? UNKNOWN_REJECTION);
  const holdersThen = readHolders(annotation);
  const holders = countHolders(service, related);
  if (isShared && holdersThen !== undefined && holders !== undefined && holders < holdersThen) return 0;
  // A time far in the future comes from a wrong clock or from the Service's owner: it must not delay the retry.
  const seconds = Math.abs(now.getTime() - Date.parse(annotation.at)) / 1_000;
  return Math.ceil((isShared ? SHARED_LIMIT_SECONDS : REJECTED_SECONDS) - seconds);
}

/**
 * Returns the issue that the annotation records, and maps an unknown code to a known one. The Service's owner can write
 * anything in the annotation, and metrics count the issues of all clusters by code.
 */
function parseRejectedIssue(
  { refused = UNKNOWN_REJECTION }: StateAnnotation,
  { metadata: { annotations = {} } }: Service,
): Issue {
  const code = toIssueCode(refused);
  const { field } = refused;
  if (field === undefined) return { code };
  return { code, field, value: Object.hasOwn(annotations, field) ? annotations[field] : undefined };
}

const UNKNOWN_REJECTION: NonNullable<StateAnnotation["refused"]> = { code: "LoadBalancerRefused" };

const SWEEP_MINUTES = 10;

/**
 * Returns whether a sweep checks the Service fully in this minute, as a refresh does. Without a relay, a sweep sends
 * every Service each minute: a full check of each every ten minutes is enough. If a sweep misses the minute of a
 * Service, its full check follows ten minutes later.
 */
function isFullCheckMinute({ metadata: { uid } }: Service, now: Date): boolean {
  const minute = Math.floor(now.getTime() / 60_000);
  return Number.parseInt(hashText(uid).slice(-6), 16) % SWEEP_MINUTES === minute % SWEEP_MINUTES;
}
