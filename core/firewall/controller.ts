import { tell } from "#core/cluster-events.ts";
import { CLUSTER, type ClusterObject } from "#core/cluster-object.ts";
import { SERVICE_EVENT_SOURCE } from "#core/contracts.ts";
import type { Controller, RefusedAction } from "#core/controller.ts";
import type { Decision } from "#core/decision.ts";
import { each, referenceTo, retry } from "#core/decisions.ts";
import { decideFirewall, type FirewallAnswer, letsInMore } from "#core/firewall/decide.ts";
import { servicesIn } from "#core/firewall/exposed-service.ts";
import { AUDIT_SECONDS, firewallSettingsOf } from "#core/firewall/settings.ts";
import { FIREWALL, type FirewallQuestion, FirewallState } from "#core/firewall/state.ts";
import { namedLoadBalancers } from "#core/firewall/wanted-rules.ts";
import { firewallWatch } from "#core/firewall/watch.ts";
import { NAMESPACES, SERVICES } from "#core/resources/resource.ts";

/** The firewall-controller: one firewall for a cluster's nodes, which lets in what its Services expose. */
export const firewallController: Controller<ClusterObject, FirewallAnswer> = {
  ...firewallWatch,
  eventSource: SERVICE_EVENT_SOURCE,
  asks(_, { related, settings }) {
    const configured = firewallSettingsOf(settings);
    const services = servicesIn(related);
    if (configured === undefined || services === undefined) return undefined;
    const { name } = configured.publicAccessFirewall;
    const ask: FirewallQuestion = { name, loadBalancers: namedLoadBalancers(services) };
    return { capability: FIREWALL, ask };
  },
  // How many Services there are matters to what is closed, and to nothing else.
  stateOf(batch, context) {
    const isCounted = batch.some(({ answer }) => {
      const state = answer?.kind === "observed" ? FirewallState.safeParse(answer.state).data : undefined;
      return state !== undefined && letsInMore(state, context);
    });
    if (!isCounted) return undefined;
    const { apiVersion, name } = NAMESPACES;
    return { apiVersion, name, at: CLUSTER.only, counted: SERVICES };
  },
  decide: (batch, context) =>
    each(batch.map(({ object, answer }) => decideFirewall(object, answer, context))),
  fold(subject, { write, result, failed }) {
    const { answer } = subject;
    if (answer?.kind !== "observed" || write.on !== "cloud" || failed !== undefined) return subject;
    const state = { ...FirewallState.parse(answer.state), firewalls: [result] };
    return { ...subject, answer: { ...answer, state, isWritten: true } };
  },
  refused: ({ object }, refusal) => afterRefusal(object, refusal),
};

/** What the cloud will say again is told; the rest is a matter of time. */
function afterRefusal(object: ClusterObject, { action, answer }: RefusedAction): Decision | undefined {
  if (answer.kind !== "error" || (answer.code !== "Denied" && answer.code !== "Invalid")) return undefined;
  const because = { code: answer.code, message: `${action.action} ${action.target}: ${answer.message}` };
  return retry(referenceTo(NAMESPACES, object), because, AUDIT_SECONDS, [
    tell("SyncFirewallFailed", "FirewallRefused", {}),
  ]);
}
