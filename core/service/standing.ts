import type { AskContext } from "#core/controller.ts";
import { hashOf } from "#core/hash.ts";
import {
  type Claimant,
  claimedMs,
  isHeldByAnother,
  isLatelyHeldByAnother,
  secondsUntilRecheck,
  UNNAMED_ACTOR,
} from "#core/service/claims.ts";
import { isGivenUp, type Mark, markOf, readHolders } from "#core/service/mark.ts";
import type { LoadBalancerModel, LoadBalancerQuestion, Problem } from "#core/service/model.ts";
import {
  hasFinalizer,
  hashOfIngress,
  hasLostType,
  ingressOf,
  needsCleanup,
  seenHash,
  wantsLoadBalancer,
} from "#core/service/needs-work.ts";
import { type Amounts, LISTENER_COUNT, LOAD_BALANCER_COUNT } from "#core/service/places.ts";
import { isSharedLimit, toldCodeOf } from "#core/service/problems.ts";
import type { Service } from "#core/service/service.ts";
import { type TargetNodes, targetNodesOf } from "#core/service/target-nodes.ts";
import { countHolders, hasTurn } from "#core/service/turn.ts";
import { limitLoadBalancers } from "#core/settings.ts";

/** What can be said of a Service before the cloud is asked: by it is known whether it is asked, and what. */
export type Standing =
  /** It neither wants a load balancer nor has one of ours. */
  | { readonly kind: "none" }
  /** Another controller's, by what it says. */
  | { readonly kind: "elsewhere" }
  | { readonly kind: "unknown-nodes" }
  /** The nodes are of an older list than those last applied. */
  | { readonly kind: "stale-nodes" }
  /** Others come first. */
  | { readonly kind: "no-turn" }
  /** Something that it asks for is refused. `wish` is set where it has a load balancer whose targets may have changed: the cloud is asked. */
  | {
      readonly kind: "refused";
      readonly problem: Problem;
      readonly wish?: Wish | undefined;
      /** After so many seconds it is tried again, whatever is refused. */
      readonly dueInSeconds?: number | undefined;
    }
  /** The cloud has refused it, and what was made of it goes again. */
  | { readonly kind: "undoing"; readonly question: LoadBalancerQuestion; readonly mark: Mark }
  /** Another actor has claimed it while this one was at it, and goes on with what it wants now. */
  | { readonly kind: "yielding" }
  /** All that it asks for was applied, after an actor whose requests may still arrive: the cloud is observed once more then. */
  | { readonly kind: "rechecking"; readonly afterSeconds: number }
  /** All that it asks for was applied; nobody has to be asked. */
  | { readonly kind: "applied"; readonly wish: Wish }
  /** `needsPlace` is true where the cluster has its load balancers: it keeps one that the cloud shows, and gets no new one. */
  | { readonly kind: "asking"; readonly wish: Wish; readonly needsPlace?: boolean }
  | { readonly kind: "leaving"; readonly question: LoadBalancerQuestion };

/** What a Service wants, and what stands for that in our annotation. */
export interface Wish {
  readonly question: LoadBalancerQuestion;
  readonly hashes: Pick<Mark, "seen" | "desired" | "targets">;
  readonly nodes: TargetNodes;
}

/** Where a Service stands; the same before the cloud is asked and when it has answered. */
export function standingOf(service: Service, model: LoadBalancerModel, context: AskContext): Standing {
  if (wantsLoadBalancer(service, context.settings)) return standingOfWish(service, model, context);
  if (!needsCleanup(service, context.settings)) return { kind: "none" };
  if (hasLostType(service) && isYielding(markOf(service), context)) return { kind: "yielding" };
  // Whatever the Service says by now of another controller: what the cloud has of ours is cleared away.
  return { kind: "leaving", question: { service, wanted: false, nodes: [] } };
}

function isYielding(mark: Mark | undefined, context: AskContext): boolean {
  return context.conflict !== undefined && isLatelyHeldByAnother(mark, claimantIn(context));
}

/** The actor that decides, and when. */
export function claimantIn({ actor = UNNAMED_ACTOR, now }: AskContext): Claimant {
  return { actor, now };
}

function standingOfWish(service: Service, model: LoadBalancerModel, context: AskContext): Standing {
  const { related, settings, now, reason } = context;
  const nodes = targetNodesOf(related);
  if (nodes === undefined) return { kind: "unknown-nodes" };
  const mark = markOf(service);
  if (mark !== undefined && isOlder(nodes, mark, now)) return { kind: "stale-nodes" };
  // Whoever knows newer nodes than the other actor does not leave it to that one.
  if (isYielding(mark, context) && !isOlderVersion(mark?.nodes, nodes.resourceVersion))
    return { kind: "yielding" };
  const question: LoadBalancerQuestion = { service, wanted: true, nodes: nodes.nodes };
  const said = model.before(question, settings);
  if (said?.kind === "refused") return refusedWish(question, said.problem, { model, mark, nodes, context });
  if (said !== undefined) return said;
  const hasPlace = hasTurn(service, related, limitLoadBalancers(settings.loadBalancers), settings) === true;
  if (!hasPlace && !mayBeTakenOver(service, model)) return { kind: "no-turn" };
  const hashes = hashesOf(service, model, nodes, settings);
  if (mark?.desired === hashes.desired && isGivenUp(mark)) {
    if (mark.state === "undoing")
      return { kind: "undoing", question: { service, wanted: false, nodes: [] }, mark };
    const dueInSeconds = secondsUntilDue(mark, service, context);
    if (dueInSeconds > 0) return { kind: "refused", problem: problemOf(mark, service), dueInSeconds };
  }
  const isApplied =
    hasFinalizer(service) &&
    mark?.state === "applied" &&
    !isHeldByAnother(mark, claimantIn(context).actor) &&
    mark.desired === hashes.desired &&
    mark.ingress === hashOfIngress(ingressOf(service));
  const isAudit = isAuditOf(service, reason, now);
  const recheckSeconds = secondsUntilRecheck(mark, now);
  const asking: Standing = { kind: "asking", wish: { question, hashes, nodes }, needsPlace: !hasPlace };
  // What another actor says was applied may be older than what this one has changed since.
  if (!isApplied || isAudit || context.conflict?.hasWritten === true || recheckSeconds === 0) return asking;
  if (recheckSeconds !== undefined)
    return mark.targets === hashes.targets ? { kind: "rechecking", afterSeconds: recheckSeconds } : asking;
  const wish: Wish = { question: { ...question, onlyTargets: true }, hashes, nodes };
  return { kind: mark.targets === hashes.targets ? "applied" : "asking", wish };
}

/** Whether a Service says that another controller, such as the stock one, has made its load balancer: the cloud is asked then. */
function mayBeTakenOver(service: Service, model: LoadBalancerModel): boolean {
  return model.shows !== undefined && (hasFinalizer(service) || ingressOf(service).length > 0);
}

/** What a Service takes that the cloud does not show; undefined where it takes nothing, or the cloud does not tell. */
export function placeTaken(
  question: LoadBalancerQuestion,
  seen: unknown,
  { model, settings }: { readonly model: LoadBalancerModel; readonly settings: AskContext["settings"] },
): Amounts | undefined {
  const isShown = model.shows?.(question, seen, settings) ?? true;
  const { kind, missingListeners = 0 } = model.measure?.(question, seen) ?? {};
  if (isShown && missingListeners === 0) return undefined;
  return {
    ...(isShown ? {} : { [LOAD_BALANCER_COUNT]: 1 }),
    ...(isShown || kind === undefined ? {} : { [kind]: 1 }),
    ...(missingListeners === 0 ? {} : { [LISTENER_COUNT]: missingListeners }),
  };
}

/** What is known of a Service before the cloud is asked about it. */
interface Known {
  readonly model: LoadBalancerModel;
  readonly mark: Mark | undefined;
  readonly nodes: TargetNodes;
  readonly context: AskContext;
}

/**
 * A Service that asks for something that is refused. Where it has a load balancer, that one follows the nodes all the same: the cloud is
 * asked when the targets differ from those last applied, and in an audit. An empty list of targets is never applied this way.
 */
function refusedWish(
  question: LoadBalancerQuestion,
  problem: Problem,
  { model, mark, nodes, context }: Known,
): Standing {
  const { settings, reason, now } = context;
  const { service } = question;
  const refused = { kind: "refused", problem } as const;
  if (!canFollowNodes(question, model) || !isServed(service, mark)) return refused;
  const hashes = hashesOf(service, model, nodes, settings);
  // What another actor has sent may have changed the targets, or may still arrive.
  const isDoubted =
    isHeldByAnother(mark, claimantIn(context).actor) || secondsUntilRecheck(mark, now) !== undefined;
  if (mark?.targets === hashes.targets && !isDoubted && !isAuditOf(service, reason, now)) return refused;
  return { ...refused, wish: { question: { ...question, onlyTargets: true }, hashes, nodes } };
}

/** Whether a load balancer can follow the nodes while something else is refused: the cloud's model can do it, and there are targets. */
export function canFollowNodes({ service, nodes }: LoadBalancerQuestion, model: LoadBalancerModel): boolean {
  return model.followNodes !== undefined && nodes.some((node) => model.targetOf(node, service) !== undefined);
}

/** Whether a Service has a load balancer, as far as it tells itself: we have applied one, or its status names one. */
function isServed(service: Service, mark: Mark | undefined): boolean {
  if (mark !== undefined && isGivenUp(mark)) return false;
  return (mark?.desired ?? "") !== "" || ingressOf(service).length > 0;
}

function hashesOf(
  service: Service,
  model: LoadBalancerModel,
  nodes: TargetNodes,
  settings: AskContext["settings"],
): Wish["hashes"] {
  return {
    seen: seenHash(service, settings),
    desired: hashOf(model.desired(service, settings)),
    targets: hashOf(JSON.stringify(targetsOf(nodes, model, service))),
  };
}

function isAuditOf(service: Service, reason: AskContext["reason"], now: Date): boolean {
  return reason === "refresh" || (reason === "sweep" && isTurnOfSweep(service, now));
}

function targetsOf({ nodes }: TargetNodes, model: LoadBalancerModel, service: Service): readonly string[] {
  return [...new Set(nodes.flatMap((node) => model.targetOf(node, service) ?? []))].sort();
}

/** Whoever sends an older list than somebody before has lagged behind; longer than this nobody does. */
const LAG_MS = 60_000;

/**
 * Whether the list is older than the one that was last applied. That holds for a minute after: an API server that came back from a
 * backup counts its versions from an earlier one again, and a version that somebody wrote there is not waited for either.
 */
function isOlder({ resourceVersion }: TargetNodes, mark: Mark, now: Date): boolean {
  const sinceMs = now.getTime() - Math.max(Date.parse(mark.at), claimedMs(mark) ?? 0);
  if (sinceMs < -LAG_MS || sinceMs > LAG_MS) return false;
  return isOlderVersion(resourceVersion, mark.nodes);
}

function isOlderVersion(one: string | undefined, other: string): boolean {
  return isNumber(one) && isNumber(other) && BigInt(one) < BigInt(other);
}

function isNumber(version: string | undefined): version is string {
  return version !== undefined && /^\d{1,20}$/.test(version);
}

/** What was refused and undone is not tried again sooner, while nothing has changed: what is made meanwhile costs money. */
const REFUSED_SECONDS = 3_600;
/** A limit that others share may have room again at any time. */
const SHARED_LIMIT_SECONDS = 240;

/** Returns after how many seconds what was refused is tried again: at once where another Service has lost its load balancer since. */
function secondsUntilDue(mark: Mark, service: Service, { related, now }: AskContext): number {
  const isShared = isSharedLimit(mark.refused ?? UNTOLD);
  const then = readHolders(mark);
  const holders = countHolders(service, related);
  if (isShared && then !== undefined && holders !== undefined && holders < then) return 0;
  const seconds = Math.abs(now.getTime() - Date.parse(mark.at)) / 1_000;
  return Math.ceil((isShared ? SHARED_LIMIT_SECONDS : REFUSED_SECONDS) - seconds);
}

/** The Service's owner can write whatever he likes in our annotation, and codes are what those of all clusters are counted by. */
function problemOf({ refused = UNTOLD }: Mark, { metadata: { annotations = {} } }: Service): Problem {
  const code = toldCodeOf(refused);
  const { field } = refused;
  if (field === undefined) return { code };
  return { code, field, value: Object.hasOwn(annotations, field) ? annotations[field] : undefined };
}

const UNTOLD: NonNullable<Mark["refused"]> = { code: "LoadBalancerRefused" };

const SWEEP_MINUTES = 10;

/** A sweep brings everything each minute where there is no relay: one in ten is looked at as a refresh would. */
function isTurnOfSweep({ metadata: { uid } }: Service, now: Date): boolean {
  const minute = Math.floor(now.getTime() / 60_000);
  return Number.parseInt(hashOf(uid).slice(-6), 16) % SWEEP_MINUTES === minute % SWEEP_MINUTES;
}
