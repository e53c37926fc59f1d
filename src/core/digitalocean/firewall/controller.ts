import { buildClusterEvent } from "#core/cluster-events.ts";
import { CLUSTER, type ClusterObject } from "#core/cluster-object.ts";
import { SERVICE_EVENT_SOURCE } from "#core/contracts.ts";
import type { Controller, DecisionContext, RejectedAction } from "#core/controller.ts";
import type { ClusterEvent, Decision } from "#core/decision.ts";
import { change, leaveUnchanged, planEach, retry, toReference } from "#core/decisions.ts";
import { type ExposedService, exposedServices, selectServices } from "#core/digitalocean/exposed-service.ts";
import {
  buildDesiredRules,
  type InvalidAnnotation,
  listNamedLoadBalancers,
} from "#core/digitalocean/firewall/desired-rules.ts";
import {
  CREATE,
  type DesiredFirewall,
  FIREWALL,
  type Firewall,
  type FirewallQuestion,
  FirewallState,
  normalizeRules,
  OUTBOUND,
  UPDATE,
} from "#core/digitalocean/firewall/state.ts";
import {
  AUDIT_SECONDS,
  type FirewallSettings,
  firewallWatch,
  parseFirewallSettings,
} from "#core/digitalocean/firewall/watch.ts";
import { formatCanonicalJson } from "#core/hash.ts";
import type { ObjectReference, Reason } from "#core/reason.ts";
import { NAMESPACES, SERVICES } from "#core/resources/resource.ts";
import { SERVICES_UNKNOWN } from "#core/service/issues.ts";
import { getFieldFact } from "#core/tenant-fact.ts";

const UNANSWERED_SECONDS = 60;

/** The maximum number of Services with a Warning at a time; the others follow when these are fixed. */
const MAX_WARNINGS = 20;

const NOT_CONFIGURED: Reason = {
  code: "NotConfigured",
  message: "the configuration requests no firewall (cloud.publicAccessFirewall)",
};

const NOT_ASKED: Reason = { code: "Unavailable", message: "the cloud gave no answer about firewalls" };

const UNREADABLE: Reason = { code: "Invalid", message: "the cloud's answer about firewalls is invalid" };

const DIFFERS: Reason = {
  code: "FirewallDiffers",
  message: "the cloud made something else of the firewall than it was asked for; it is compared again",
};

/**
 * The firewall-controller: one firewall for a cluster's nodes, which admits the traffic that its Services
 * expose.
 */
export const firewallController: Controller<ClusterObject, FirewallAnswer> = {
  ...firewallWatch,
  eventSource: SERVICE_EVENT_SOURCE,
  buildQuestion(_, { related, settings }) {
    const configured = parseFirewallSettings(settings);
    const services = selectServices(related);
    if (configured === undefined || services === undefined) return undefined;
    const { name } = configured.publicAccessFirewall;
    const ask: FirewallQuestion = { name, loadBalancers: listNamedLoadBalancers(services) };
    return { capability: FIREWALL, ask };
  },
  // The event's list of Services may be old: they are listed again before a port is closed.
  getStateReference(batch, context) {
    const isCounted = batch.some(({ answer }) => {
      const state = answer?.kind === "observed" ? FirewallState.safeParse(answer.state).data : undefined;
      return state !== undefined && isTooOpen(state, context);
    });
    if (!isCounted) return undefined;
    const { apiVersion, name } = NAMESPACES;
    return { apiVersion, name, at: CLUSTER.only, counted: SERVICES, listed: exposedServices };
  },
  decide: (batch, context) =>
    planEach(batch.map(({ object, answer }) => decideFirewall(object, answer, context))),
  applyResult(subject, { write, result, failed }) {
    const { answer } = subject;
    if (answer?.kind !== "observed" || write.on !== "cloud" || failed !== undefined) return subject;
    const state = { ...FirewallState.parse(answer.state), firewalls: [result] };
    return { ...subject, answer: { ...answer, state, isWritten: true } };
  },
  decideRejected: ({ object }, refusal) => decideRejected(object, refusal),
};

/** Permanent rejections are reported; the others are temporary. */
function decideRejected(object: ClusterObject, { action, answer }: RejectedAction): Decision | undefined {
  if (answer.kind !== "error" || (answer.code !== "Denied" && answer.code !== "Invalid")) return undefined;
  const because = { code: answer.code, message: `${action.action} ${action.target}: ${answer.message}` };
  return retry(toReference(NAMESPACES, object), because, AUDIT_SECONDS, [
    buildClusterEvent("SyncFirewallFailed", "FirewallRefused", {}),
  ]);
}

/** The cloud's answer, and whether a write followed it. */
export type FirewallAnswer =
  | { readonly kind: "observed"; readonly state: unknown; readonly isWritten?: true }
  | { readonly kind: "error"; readonly code: string; readonly message: string };

/**
 * Decides on the firewall of a cluster as a whole. A firewall that may belong to another owner stays
 * unchanged.
 */
function decideFirewall(
  cluster: ClusterObject,
  answer: FirewallAnswer | undefined,
  context: DecisionContext,
): Decision {
  const reference = toReference(NAMESPACES, cluster);
  const settings = parseFirewallSettings(context.settings);
  if (settings === undefined) return leaveUnchanged(reference, NOT_CONFIGURED);
  const services = selectServices(context.related);
  if (services === undefined) return retry(reference, SERVICES_UNKNOWN, 5);
  if (answer?.kind !== "observed") {
    const { code, message } = answer ?? NOT_ASKED;
    return retry(reference, { code, message }, UNANSWERED_SECONDS);
  }
  const state = FirewallState.safeParse(answer.state).data;
  if (state === undefined) return retry(reference, UNREADABLE, UNANSWERED_SECONDS);
  const [there, ...others] = state.firewalls;
  const trouble = findIssue(there, others, settings);
  if (trouble !== undefined)
    return retry(reference, trouble.because, AUDIT_SECONDS, [
      buildClusterEvent("SyncFirewallFailed", trouble.code, {}),
    ]);
  const { inbound, complaints } = buildDesiredRules(services, settings, state.loadBalancers);
  const listed = selectListedServices(context);
  const shown = buildDesiredRules(listed ?? [], settings, state.loadBalancers).inbound;
  // A Service missing from the list is not proven to be gone: its ports stay open.
  const former = isComplete(listed ?? services, context) ? [] : (there?.inbound ?? []);
  const kept = normalizeRules([...inbound, ...shown, ...former]);
  const wanted: DesiredFirewall = {
    ...settings.publicAccessFirewall,
    inbound: [...kept],
    outbound: [...OUTBOUND],
  };
  const events = complaints.slice(0, MAX_WARNINGS).map(buildEvent);
  if (there !== undefined && isAs(there, wanted)) return finishDecision(reference, complaints, events);
  // The cloud's result differs from the request: a repetition would give an equal result.
  if (answer.isWritten === true) return retry(reference, DIFFERS, AUDIT_SECONDS, events);
  const action = there === undefined ? CREATE : UPDATE;
  const write = {
    ...{ on: "cloud" as const, capability: FIREWALL, action, target: there?.id ?? wanted.name },
    parameters: { ...wanted },
    precondition: { uid: cluster.metadata.uid, deleting: false },
  };
  const because = { code: action, message: `${wanted.inbound.length} rules for what comes in` };
  return change(reference, [write], { because }) as Decision;
}

/** Returns whether a firewall admits traffic that no known Service requests. */
function isTooOpen(state: FirewallState, context: Pick<DecisionContext, "related" | "settings">): boolean {
  const settings = parseFirewallSettings(context.settings);
  const services = selectServices(context.related);
  if (settings === undefined || services === undefined) return false;
  const { inbound } = buildDesiredRules(services, settings, state.loadBalancers);
  const wanted = new Set(inbound.map(formatCanonicalJson));
  return state.firewalls.some((there) =>
    normalizeRules(there.inbound).some((rule) => !wanted.has(formatCanonicalJson(rule))),
  );
}

interface FirewallIssue {
  readonly code: "FirewallForeign" | "FirewallAmbiguous";
  readonly because: Reason;
}

function findIssue(
  there: Firewall | undefined,
  others: readonly Firewall[],
  { publicAccessFirewall: { name, tags } }: FirewallSettings,
): FirewallIssue | undefined {
  if (there === undefined) return undefined;
  if (others.length > 0) {
    const ids = [there, ...others].map(({ id }) => id).join(", ");
    const message = `firewalls ${ids} have the name ${name}; delete all but one, or configure another name`;
    return { code: "FirewallAmbiguous", because: { code: "FirewallAmbiguous", message } };
  }
  const foreign = there.tags.filter((tag) => !tags.includes(tag));
  if (foreign.length === 0 && there.machines === 0) return undefined;
  const what = [
    ...foreign.map((tag) => `tag ${tag}`),
    ...(there.machines === 0 ? [] : [`${there.machines} droplets`]),
  ].join(", ");
  const message = `firewall ${there.id} (${name}) holds for others than publicAccessFirewall.tags says: ${what}; take these off it, or configure another name`;
  return { code: "FirewallForeign", because: { code: "FirewallForeign", message } };
}

function isAs(there: Firewall, wanted: DesiredFirewall): boolean {
  return formatCanonicalJson(toComparable(there)) === formatCanonicalJson(toComparable(wanted));
}

function toComparable({ tags, inbound, outbound }: Pick<DesiredFirewall, "tags" | "inbound" | "outbound">) {
  return {
    tags: [...new Set(tags)].sort(),
    inbound: normalizeRules(inbound),
    outbound: normalizeRules(outbound),
  };
}

/** Returns the Services that were listed for this decision; undefined if they were not, or could not be. */
function selectListedServices({ listed }: DecisionContext): readonly ExposedService[] | undefined {
  if (listed?.kind !== "list") return undefined;
  return selectServices({ [SERVICES.name]: { resourceVersion: "", items: listed.items } });
}

/** Whether the API server counts as many Services. A failed list proves nothing. */
function isComplete(known: readonly ExposedService[], { count, listed }: DecisionContext): boolean {
  if (listed?.kind === "unknown") return false;
  return count === undefined || (count.kind === "count" && count.count === known.length);
}

function finishDecision(
  reference: ObjectReference,
  complaints: readonly InvalidAnnotation[],
  events: readonly ClusterEvent[],
): Decision {
  const [first] = complaints;
  if (first === undefined) return leaveUnchanged(reference);
  const { namespace, name } = first.service;
  const message = `${complaints.length} Services with an annotation that cannot be made out: ${namespace}/${name}, ${first.field}`;
  return retry(reference, { code: first.code, message }, AUDIT_SECONDS, events);
}

function buildEvent({ service: { namespace, name, uid }, field, code }: InvalidAnnotation): ClusterEvent {
  const about = toReference(SERVICES, { metadata: { namespace, name, uid } });
  return {
    ...buildClusterEvent("FirewallAnnotationInvalid", code, { field: getFieldFact({ field }) }),
    about,
  };
}
