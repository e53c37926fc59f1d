import { tell } from "#core/cluster-events.ts";
import type { ClusterObject } from "#core/cluster-object.ts";
import type { DecisionContext } from "#core/controller.ts";
import type { Because, ClusterEvent, Decision, ObjectReference } from "#core/decision.ts";
import { change, referenceTo, retry, unchanged } from "#core/decisions.ts";
import { servicesIn } from "#core/firewall/exposed-service.ts";
import { normalRules, OUTBOUND } from "#core/firewall/rules.ts";
import { AUDIT_SECONDS, type FirewallSettings, firewallSettingsOf } from "#core/firewall/settings.ts";
import {
  CREATE,
  FIREWALL,
  type Firewall,
  FirewallState,
  UPDATE,
  type WantedFirewall,
} from "#core/firewall/state.ts";
import { type Complaint, wantedRules } from "#core/firewall/wanted-rules.ts";
import { canonicalJson } from "#core/hash.ts";
import { NAMESPACES, SERVICES } from "#core/resources/resource.ts";
import { fieldIn } from "#core/tenant-fact.ts";

/** What the cloud answers, and whether something was written since. */
export type FirewallAnswer =
  | { readonly kind: "observed"; readonly state: unknown; readonly isWritten?: true }
  | { readonly kind: "error"; readonly code: string; readonly message: string };

/** Decides on the firewall of a cluster: all of it, or nothing where it may be anybody else's. */
export function decideFirewall(
  cluster: ClusterObject,
  answer: FirewallAnswer | undefined,
  context: DecisionContext,
): Decision {
  const reference = referenceTo(NAMESPACES, cluster);
  const settings = firewallSettingsOf(context.settings);
  if (settings === undefined) return unchanged(reference, NOT_CONFIGURED);
  const services = servicesIn(context.related);
  if (services === undefined) return retry(reference, SERVICES_UNKNOWN, 5);
  if (answer?.kind !== "observed") {
    const { code, message } = answer ?? NOT_ASKED;
    return retry(reference, { code, message }, UNANSWERED_SECONDS);
  }
  const state = FirewallState.safeParse(answer.state).data;
  if (state === undefined) return retry(reference, UNREADABLE, UNANSWERED_SECONDS);
  const [there, ...others] = state.firewalls;
  const trouble = troubleWith(there, others, settings);
  if (trouble !== undefined)
    return retry(reference, trouble.because, AUDIT_SECONDS, [tell("SyncFirewallFailed", trouble.code, {})]);
  const { inbound, complaints } = wantedRules(services, settings, new Set(state.loadBalancers));
  // A Service that is left out of the list is not a Service that is gone: what it opened stays open.
  const kept = isComplete(services.length, context)
    ? inbound
    : normalRules([...inbound, ...(there?.inbound ?? [])]);
  const wanted: WantedFirewall = {
    ...settings.publicAccessFirewall,
    inbound: [...kept],
    outbound: [...OUTBOUND],
  };
  const events = complaints.slice(0, MAX_TOLD).map(eventOf);
  if (there !== undefined && isAs(there, wanted)) return settled(reference, complaints, events);
  // What the cloud made of it is another thing than was asked for: asking again would bring the same.
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

/** Whether a firewall lets something in that Services as they are known do not ask for. */
export function letsInMore(
  state: FirewallState,
  context: Pick<DecisionContext, "related" | "settings">,
): boolean {
  const settings = firewallSettingsOf(context.settings);
  const services = servicesIn(context.related);
  if (settings === undefined || services === undefined) return false;
  const { inbound } = wantedRules(services, settings, new Set(state.loadBalancers));
  const wanted = new Set(inbound.map(canonicalJson));
  return state.firewalls.some((there) =>
    normalRules(there.inbound).some((rule) => !wanted.has(canonicalJson(rule))),
  );
}

const UNANSWERED_SECONDS = 60;

/** So many Services are told at a time; the others come when these are mended. */
const MAX_TOLD = 20;

interface Trouble {
  readonly code: "FirewallForeign" | "FirewallAmbiguous";
  readonly because: Because;
}

function troubleWith(
  there: Firewall | undefined,
  others: readonly Firewall[],
  { publicAccessFirewall: { name, tags } }: FirewallSettings,
): Trouble | undefined {
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

function isAs(there: Firewall, wanted: WantedFirewall): boolean {
  return canonicalJson(comparable(there)) === canonicalJson(comparable(wanted));
}

function comparable({ tags, inbound, outbound }: Pick<WantedFirewall, "tags" | "inbound" | "outbound">) {
  return {
    tags: [...new Set(tags)].sort(),
    inbound: normalRules(inbound),
    outbound: normalRules(outbound),
  };
}

function isComplete(known: number, { count }: Pick<DecisionContext, "count">): boolean {
  return count === undefined || (count.kind === "count" && count.count === known);
}

function settled(
  reference: ObjectReference,
  complaints: readonly Complaint[],
  events: readonly ClusterEvent[],
): Decision {
  const [first] = complaints;
  if (first === undefined) return unchanged(reference);
  const { namespace, name } = first.service;
  const message = `${complaints.length} Services with an annotation that cannot be made out: ${namespace}/${name}, ${first.field}`;
  return retry(reference, { code: first.code, message }, AUDIT_SECONDS, events);
}

function eventOf({ service: { namespace, name, uid }, field, code }: Complaint): ClusterEvent {
  const about = referenceTo(SERVICES, { metadata: { namespace, name, uid } });
  return { ...tell("FirewallAnnotationInvalid", code, { field: fieldIn({ code, field }) }), about };
}

const NOT_CONFIGURED: Because = {
  code: "NotConfigured",
  message: "no firewall is to be kept (cloud.publicAccessFirewall)",
};
const SERVICES_UNKNOWN: Because = { code: "ServicesUnknown", message: "the event came without the Services" };
const NOT_ASKED: Because = { code: "Unavailable", message: "the cloud said nothing of firewalls" };
const UNREADABLE: Because = { code: "Invalid", message: "what the cloud says of firewalls cannot be read" };
const DIFFERS: Because = {
  code: "FirewallDiffers",
  message: "the cloud made something else of the firewall than it was asked for; it is compared again",
};
