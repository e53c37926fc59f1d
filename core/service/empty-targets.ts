import { tell } from "#core/cluster-events.ts";
import type { DecisionContext } from "#core/controller.ts";
import type { Because, Decision, PatchWrite } from "#core/decision.ts";
import { change, referenceTo, retry } from "#core/decisions.ts";
import { SERVICES } from "#core/resources/resource.ts";
import { readListedNodes } from "#core/service/listed-nodes.ts";
import {
  isGivenUp,
  type Mark,
  markOf,
  NO_TARGETS,
  readNoNodeSince,
  UNKNOWN_TARGETS,
  writeNoNodeSince,
} from "#core/service/mark.ts";
import type { LoadBalancerModel, TargetNode } from "#core/service/model.ts";
import { hasFinalizer, hashOfIngress, ingressOf } from "#core/service/needs-work.ts";
import { IN_PROGRESS } from "#core/service/problems.ts";
import type { Service } from "#core/service/service.ts";
import type { Wish } from "#core/service/standing.ts";
import type { Retry } from "#core/service/trouble.ts";
import { recordNoNode } from "#core/service/writes.ts";

/**
 * A load balancer loses its last target only where the API server itself shows no node for it twice, this long apart. The nodes of
 * an event prove nothing: an event may come without any, and so may the list of an API server that has just come back.
 */
const APART_SECONDS = 30;
/** An earlier look counts no longer than this. */
const COUNTS_SECONDS = 300;
const NOT_LISTED_SECONDS = 10;
const LISTED_SECONDS = 2;

/** Whether a Service's load balancer would lose its last target, as far as the event's nodes and the Service itself tell. */
export function losesLastTarget(service: Service, wish: Wish, model: LoadBalancerModel): boolean {
  if (wish.hashes.targets !== NO_TARGETS || model.hasNoTargets === true) return false;
  const mark = markOf(service);
  if (mark === undefined) return hasFinalizer(service) || ingressOf(service).length > 0;
  if (isGivenUp(mark) || mark.targets === NO_TARGETS) return false;
  return mark.desired !== "" || readNoNodeSince(mark) !== undefined || ingressOf(service).length > 0;
}

/**
 * Returns what is done in place of taking the last target away; undefined once it is proven that there is no node to send to. All
 * else of the Service waits meanwhile.
 */
export function keepLastTarget(
  service: Service,
  model: LoadBalancerModel,
  context: DecisionContext,
): Decision | undefined {
  const { now } = context;
  const reference = referenceTo(SERVICES, service);
  const shown = readProof(service, model, context);
  if (shown.kind === "unproven") return retry(reference, because(shown.message), NOT_LISTED_SECONDS, [KEPT]);
  const sinceSeconds = secondsSinceFirst(markOf(service), now);
  const facts = factsOf(service, now);
  if (shown.kind === "nodes") {
    const otherwise = retry(reference, because("the API server lists nodes to send to"), LISTED_SECONDS);
    // An earlier look that showed none does not count beside this one.
    const forgotten = sinceSeconds === undefined ? undefined : recordNoNode(service, UNKNOWN_TARGETS, facts);
    return recordOr(service, forgotten, otherwise);
  }
  if (sinceSeconds === undefined) {
    const otherwise = retry(reference, because("the API server lists no node to send to"), APART_SECONDS, [
      KEPT,
    ]);
    return recordOr(service, recordNoNode(service, writeNoNodeSince(now), facts), otherwise);
  }
  if (sinceSeconds >= APART_SECONDS) return undefined;
  const message = `the API server has listed no node to send to for ${Math.round(sinceSeconds)} s`;
  return retry(reference, because(message), APART_SECONDS - sinceSeconds, [KEPT]);
}

function recordOr(service: Service, write: PatchWrite | undefined, otherwise: Retry): Decision {
  const { because, events } = otherwise;
  return change(referenceTo(SERVICES, service), [write], { because, events }) ?? otherwise;
}

type Proof =
  | { readonly kind: "none" }
  | { readonly kind: "nodes" }
  | { readonly kind: "unproven"; readonly message: string };

function readProof(service: Service, model: LoadBalancerModel, context: DecisionContext): Proof {
  const listed = readListedNodes(context);
  if (listed.kind === "unproven") return listed;
  // A node without a provider ID may be a target in a moment.
  const mayBeTarget = (node: TargetNode): boolean =>
    node.providerID === undefined || model.targetOf(node, service) !== undefined;
  return { kind: listed.nodes.some(mayBeTarget) ? "nodes" : "none" };
}

/** Seconds since no node was listed first; undefined where that was never, too long ago, or is not to be believed. */
function secondsSinceFirst(mark: Mark | undefined, now: Date): number | undefined {
  const since = mark === undefined ? undefined : readNoNodeSince(mark);
  if (since === undefined) return undefined;
  const seconds = (now.getTime() - Date.parse(since)) / 1_000;
  return seconds >= 0 && seconds <= COUNTS_SECONDS ? seconds : undefined;
}

/** What our annotation says of the Service already; of one without it, that nothing was applied. */
function factsOf(service: Service, now: Date): Omit<Mark, "version" | "uid" | "targets"> {
  const mark = markOf(service);
  if (mark === undefined) {
    const ingress = hashOfIngress(ingressOf(service));
    return { state: "applying", seen: "", desired: "", ingress, nodes: "", at: now.toISOString() };
  }
  const { version: _, uid: __, targets: ___, ...facts } = mark;
  return facts;
}

function because(message: string): Because {
  return { code: IN_PROGRESS, message: `${message}: the load balancer keeps its targets` };
}

const KEPT = tell("UnAvailableLoadBalancer", "TargetsKept", {});
