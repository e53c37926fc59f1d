import { formatCidr } from "#core/cidr.ts";
import type { ClusterObject } from "#core/cluster-object.ts";
import { ROUTE_EVENT_SOURCE } from "#core/contracts.ts";
import type { Controller } from "#core/controller.ts";
import { each } from "#core/decisions.ts";
import { decideRoutes, type RouteAnswer } from "#core/route/decide.ts";
import { foldRoutes } from "#core/route/fold.ts";
import { nodesIn } from "#core/route/related-node.ts";
import { type RouteQuestion, RouteState } from "#core/route/state.ts";
import { clusterNetworks, isConfigured, wantedRoutes } from "#core/route/wanted.ts";
import { routeWatch } from "#core/route/watch.ts";

/** What a cloud answers. */
type Answer = RouteAnswer | { readonly kind: "error"; readonly code: string; readonly message: string };

/** The node-route-controller: routes to the pods of each node in the cluster's route tables, and what nodes say of them. */
export const routeController: Controller<ClusterObject, Answer> = {
  ...routeWatch,
  eventSource: ROUTE_EVENT_SOURCE,
  asks(_, { related, settings: { routes } }) {
    const nodes = nodesIn(related);
    if (nodes === undefined || !isConfigured(routes)) return undefined;
    const networks = clusterNetworks(routes);
    const providerIDs = new Map(nodes.map(({ name, providerID }) => [name, providerID]));
    const { byNode } = wantedRoutes(nodes, networks);
    const ask: RouteQuestion = {
      clusterCIDRs: networks.map(formatCidr),
      nodes: [...byNode].map(([name, cidrs]) => {
        const providerID = providerIDs.get(name);
        return { name, ...(providerID === undefined ? {} : { providerID }), cidrs };
      }),
    };
    return { capability: "routes", ask };
  },
  decide: (batch, context) =>
    each(batch.map(({ object, answer }) => decideRoutes(object, observed(answer), context))),
  fold: (subject, done) =>
    subject.answer?.kind === "observed" ? { ...subject, answer: foldRoutes(subject.answer, done) } : subject,
};

/** What a capability says is JSON until it was read. */
function observed(answer: Answer | undefined): Answer | undefined {
  if (answer?.kind !== "observed" || answer.pass !== undefined) return answer;
  const parsed = RouteState.safeParse(answer.state);
  if (parsed.success) return { kind: "observed", state: parsed.data };
  return { kind: "error", code: "Invalid", message: "what the cloud says of routes cannot be read" };
}
