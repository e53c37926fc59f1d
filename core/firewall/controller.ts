import { buildClusterEvent } from "#core/cluster-events.ts";
import { CLUSTER, type ClusterObject } from "#core/cluster-object.ts";
import { SERVICE_EVENT_SOURCE } from "#core/contracts.ts";
import type { Controller, RejectedAction } from "#core/controller.ts";
import type { Decision } from "#core/decision.ts";
import { planEach, retry, toReference } from "#core/decisions.ts";
import { decideFirewall, type FirewallAnswer, isTooOpen } from "#core/firewall/decide.ts";
import { listNamedLoadBalancers } from "#core/firewall/desired-rules.ts";
import { selectServices } from "#core/firewall/exposed-service.ts";
import { AUDIT_SECONDS, parseFirewallSettings } from "#core/firewall/settings.ts";
import { FIREWALL, type FirewallQuestion, FirewallState } from "#core/firewall/state.ts";
import { firewallWatch } from "#core/firewall/watch.ts";
import { NAMESPACES, SERVICES } from "#core/resources/resource.ts";

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
  // The number of Services matters only for closing ports.
  getStateReference(batch, context) {
    const isCounted = batch.some(({ answer }) => {
      const state = answer?.kind === "observed" ? FirewallState.safeParse(answer.state).data : undefined;
      return state !== undefined && isTooOpen(state, context);
    });
    if (!isCounted) return undefined;
    const { apiVersion, name } = NAMESPACES;
    return { apiVersion, name, at: CLUSTER.only, counted: SERVICES };
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
