import { buildClusterEvent } from "#core/cluster-events.ts";
import type { DecisionContext } from "#core/controller.ts";
import type { Decision, PatchWrite } from "#core/decision.ts";
import { change, retry, toReference } from "#core/decisions.ts";
import type { Reason } from "#core/reason.ts";
import { SERVICES } from "#core/resources/resource.ts";
import type { Retry } from "#core/service/issue-decisions.ts";
import { IN_PROGRESS } from "#core/service/issues.ts";
import type { LoadBalancerModel, LoadBalancerQuestion, TargetNode } from "#core/service/model.ts";
import { getIngress, hasFinalizer, hashIngress } from "#core/service/needs-work.ts";
import type { DesiredLoadBalancer } from "#core/service/phase.ts";
import type { Service } from "#core/service/service.ts";
import {
  isGivenUp,
  NO_TARGETS,
  parseStateAnnotation,
  readNoNodeSince,
  type StateAnnotation,
  UNKNOWN_TARGETS,
  writeNoNodeSince,
} from "#core/service/state-annotation.ts";
import { readListedNodes } from "#core/service/target-nodes.ts";
import { recordNoNode } from "#core/service/writes.ts";

/**
 * A load balancer loses its last target only if two lists of the API server, this far apart, contain no node.
 * The nodes of an event prove nothing: an event may have no nodes, and a restarting API server may list none.
 */
const APART_SECONDS = 30;
/** An earlier list counts for at most this time. */
const COUNTS_SECONDS = 300;
const NOT_LISTED_SECONDS = 10;
const LISTED_SECONDS = 2;

/**
 * Returns whether a load balancer would lose its last target, judged by the event's nodes and by the Service.
 */
export function isLosingLastTarget(
  service: Service,
  desired: DesiredLoadBalancer,
  model: LoadBalancerModel,
): boolean {
  if (desired.hashes.targets !== NO_TARGETS || model.hasNoTargets === true) return false;
  const annotation = parseStateAnnotation(service);
  if (annotation === undefined) return hasFinalizer(service) || getIngress(service).length > 0;
  if (isGivenUp(annotation) || annotation.targets === NO_TARGETS) return false;
  return (
    annotation.desired !== "" || readNoNodeSince(annotation) !== undefined || getIngress(service).length > 0
  );
}

/**
 * Returns the decision that replaces the removal of the last target; undefined after it is proven that no
 * node exists. Until then, all other work on the Service waits.
 */
export function keepLastTarget(
  service: Service,
  model: LoadBalancerModel,
  context: DecisionContext,
): Decision | undefined {
  const { now } = context;
  const reference = toReference(SERVICES, service);
  const proof = readProof(service, model, context);
  if (proof.kind === "unproven")
    return retry(reference, createReason(proof.message), NOT_LISTED_SECONDS, [KEPT]);
  const sinceSeconds = getSecondsSinceFirst(parseStateAnnotation(service), now);
  const facts = selectAnnotationFacts(service, now);
  if (proof.kind === "nodes") {
    const otherwise = retry(reference, createReason("the API server lists nodes to send to"), LISTED_SECONDS);
    // An earlier empty list no longer counts when this list has nodes.
    const forgotten = sinceSeconds === undefined ? undefined : recordNoNode(service, UNKNOWN_TARGETS, facts);
    return recordOr(service, forgotten, otherwise);
  }
  if (sinceSeconds === undefined) {
    const otherwise = retry(
      reference,
      createReason("the API server lists no node to send to"),
      APART_SECONDS,
      [KEPT],
    );
    return recordOr(service, recordNoNode(service, writeNoNodeSince(now), facts), otherwise);
  }
  if (sinceSeconds >= APART_SECONDS) return undefined;
  const message = `the API server has listed no node to send to for ${Math.round(sinceSeconds)} s`;
  return retry(reference, createReason(message), APART_SECONDS - sinceSeconds, [KEPT]);
}

function recordOr(service: Service, write: PatchWrite | undefined, otherwise: Retry): Decision {
  const { because, events } = otherwise;
  return change(toReference(SERVICES, service), [write], { because, events }) ?? otherwise;
}

type EmptyTargetProof =
  | { readonly kind: "none" }
  | { readonly kind: "nodes" }
  | { readonly kind: "unproven"; readonly message: string };

function readProof(service: Service, model: LoadBalancerModel, context: DecisionContext): EmptyTargetProof {
  const listed = readListedNodes(context);
  if (listed.kind === "unproven") return listed;
  // A node without a provider ID may become a target soon.
  const mayBeTarget = (node: TargetNode): boolean =>
    node.providerID === undefined || model.getTarget(node, service) !== undefined;
  return { kind: listed.nodes.some(mayBeTarget) ? "nodes" : "none" };
}

/**
 * Seconds since the first list without nodes; undefined if there was no such list, or if it is too old or not
 * credible.
 */
function getSecondsSinceFirst(mark: StateAnnotation | undefined, now: Date): number | undefined {
  const since = mark === undefined ? undefined : readNoNodeSince(mark);
  if (since === undefined) return undefined;
  const seconds = (now.getTime() - Date.parse(since)) / 1_000;
  return seconds >= 0 && seconds <= COUNTS_SECONDS ? seconds : undefined;
}

/** The facts of the state annotation; without an annotation, nothing was applied. */
function selectAnnotationFacts(
  service: Service,
  now: Date,
): Omit<StateAnnotation, "version" | "uid" | "targets"> {
  const annotation = parseStateAnnotation(service);
  if (annotation === undefined) {
    const ingress = hashIngress(getIngress(service));
    return { state: "applying", seen: "", desired: "", ingress, nodes: "", at: now.toISOString() };
  }
  const { version: _, uid: __, targets: ___, ...facts } = annotation;
  return facts;
}

function createReason(message: string): Reason {
  return { code: IN_PROGRESS, message: `${message}: the load balancer keeps its targets` };
}

const KEPT = buildClusterEvent("UnAvailableLoadBalancer", "TargetsKept", {});

/** The inputs that show whether targets would be lost: the question, and the observed state of the cloud. */
interface LostTargetsContext {
  readonly question: LoadBalancerQuestion;
  readonly observed: unknown;
  readonly model: LoadBalancerModel;
}

/**
 * Returns whether a load balancer has targets that are not nodes of the event. The nodes are listed before
 * such targets are removed.
 */
export function hasLostTargets({ question, observed, model }: LostTargetsContext): boolean {
  return (model.listLostTargets?.(question, observed) ?? []).length > 0;
}

/**
 * Returns a retry in place of a step that removes targets which the API server still lists as nodes; an event
 * with these nodes must come first. The nodes of an event prove no absence, because an event may be old or
 * forged. Undefined when no listed node loses its place.
 */
export function keepListedTargets(lost: LostTargetsContext, context: DecisionContext): Retry | undefined {
  const { question, observed, model } = lost;
  const ids = new Set(model.listLostTargets?.(question, observed));
  if (ids.size === 0) return undefined;
  const { service } = question;
  const listed = readListedNodes(context);
  if (listed.kind === "unproven") return keep(lost, listed.message, NOT_LISTED_SECONDS);
  const brought = new Set(question.nodes.map((node) => model.getTarget(node, service)));
  const lacking = listed.nodes.filter((node) => {
    const target = model.getTarget(node, service);
    return target !== undefined && !brought.has(target) && (ids.has(target) || ids.has(undefined));
  });
  if (lacking.length === 0) return undefined;
  const message = `the API server lists ${lacking.length} nodes with targets that the event does not bring`;
  return keep(lost, message, LISTED_SECONDS);
}

function keep({ question: { service } }: LostTargetsContext, message: string, afterSeconds: number): Retry {
  const because = { code: IN_PROGRESS, message: `${message}: the load balancer keeps its targets` };
  return retry(toReference(SERVICES, service), because, afterSeconds);
}
