import type { AskContext } from "#core/controller.ts";
import { hashOf } from "#core/hash.ts";
import { isGivenUp, type Mark, markOf } from "#core/service/mark.ts";
import type { LoadBalancerModel, LoadBalancerQuestion, Problem } from "#core/service/model.ts";
import {
  hasFinalizer,
  hashOfIngress,
  ingressOf,
  needsCleanup,
  seenHash,
  wantsLoadBalancer,
} from "#core/service/needs-work.ts";
import { toldCodeOf } from "#core/service/problems.ts";
import type { Service } from "#core/service/service.ts";
import { type TargetNodes, targetNodesOf } from "#core/service/target-nodes.ts";
import { hasTurn } from "#core/service/turn.ts";

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
  | { readonly kind: "refused"; readonly problem: Problem }
  /** The cloud has refused it, and what was made of it goes again. */
  | { readonly kind: "undoing"; readonly question: LoadBalancerQuestion; readonly mark: Mark }
  /** All that it asks for was applied; nobody has to be asked. */
  | { readonly kind: "applied"; readonly wish: Wish }
  | { readonly kind: "asking"; readonly wish: Wish }
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
  const question = { service, wanted: false, nodes: [] };
  // What our annotation says is ours is cleared away, whatever the Service says by now of another controller.
  const said = markOf(service) === undefined ? model.before(question, context.settings) : undefined;
  return said?.kind === "elsewhere" ? said : { kind: "leaving", question };
}

function standingOfWish(service: Service, model: LoadBalancerModel, context: AskContext): Standing {
  const { related, settings, now, reason } = context;
  const nodes = targetNodesOf(related);
  if (nodes === undefined) return { kind: "unknown-nodes" };
  const mark = markOf(service);
  if (mark !== undefined && isOlder(nodes, mark, now)) return { kind: "stale-nodes" };
  const question: LoadBalancerQuestion = { service, wanted: true, nodes: nodes.nodes };
  const said = model.before(question, settings);
  if (said !== undefined) return said;
  if (hasTurn(service, related, settings.loadBalancers.max, settings) !== true) return { kind: "no-turn" };
  const hashes = {
    seen: seenHash(service, settings),
    desired: hashOf(model.desired(service, settings)),
    targets: hashOf(JSON.stringify(targetsOf(nodes, model, service))),
  };
  if (mark?.desired === hashes.desired && isGivenUp(mark)) {
    if (mark.state === "undoing")
      return { kind: "undoing", question: { service, wanted: false, nodes: [] }, mark };
    if (!isDue(mark, now)) return { kind: "refused", problem: problemOf(mark, service) };
  }
  const isApplied =
    hasFinalizer(service) &&
    mark?.state === "applied" &&
    mark.desired === hashes.desired &&
    mark.ingress === hashOfIngress(ingressOf(service));
  const isAudit = reason === "refresh" || (reason === "sweep" && isTurnOfSweep(service, now));
  if (!isApplied || isAudit) return { kind: "asking", wish: { question, hashes, nodes } };
  const wish: Wish = { question: { ...question, onlyTargets: true }, hashes, nodes };
  return { kind: mark.targets === hashes.targets ? "applied" : "asking", wish };
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
function isOlder({ resourceVersion }: TargetNodes, { nodes, at }: Mark, now: Date): boolean {
  const sinceMs = now.getTime() - Date.parse(at);
  if (sinceMs < -LAG_MS || sinceMs > LAG_MS) return false;
  return isNumber(resourceVersion) && isNumber(nodes) && BigInt(resourceVersion) < BigInt(nodes);
}

function isNumber(version: string): boolean {
  return /^\d{1,20}$/.test(version);
}

/** What was refused and undone is not tried again sooner, while nothing has changed: what is made meanwhile costs money. */
const REFUSED_MS = 3_600_000;

function isDue({ at }: Mark, now: Date): boolean {
  return Math.abs(now.getTime() - Date.parse(at)) >= REFUSED_MS;
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
