import { formatCidr } from "#core/cidr.ts";
import { CLUSTER, type ClusterObject } from "#core/cluster-object.ts";
import { ROUTE_EVENT_SOURCE } from "#core/contracts.ts";
import type { Controller, Subject } from "#core/controller.ts";
import { each } from "#core/decisions.ts";
import { NAMESPACES, NODES } from "#core/resources/resource.ts";
import { decideRoutes, planWith, type RouteAnswer, type RouteSubject } from "#core/route/decide.ts";
import { foldRoutes } from "#core/route/fold.ts";
import { ASSUMED } from "#core/route/proof.ts";
import { nodesIn, routeNodes } from "#core/route/related-node.ts";
import { isStopped, namedCandidates } from "#core/route/stale.ts";
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
  // A list of nodes may be old: before a route is deleted nodes are counted, and before one is taken from a live instance, listed.
  stateOf(batch, context) {
    const plans = batch.flatMap((subject) => planWith(ASSUMED, read(subject), context) ?? []);
    const due = plans.flatMap(({ stale }) =>
      stale.filter((route) => route.waitSeconds === 0 && !isStopped(route, context.stop)),
    );
    const isListed = due.some(({ isLive }) => isLive) || plans.some(({ hasTakeover }) => hasTakeover);
    if (due.length === 0 && !isListed) return undefined;
    const { apiVersion, name } = NAMESPACES;
    return {
      ...{ apiVersion, name, at: CLUSTER.only },
      counted: due.length === 0 ? undefined : NODES,
      listed: isListed ? routeNodes : undefined,
    };
  },
  listCandidates(subject, context) {
    const plan = planWith(ASSUMED, read(subject), context);
    return plan && [...namedCandidates(plan.stale)];
  },
  decide: (batch, context) => each(batch.map((subject) => decideRoutes(read(subject), context))),
  fold: (subject, done) =>
    subject.answer?.kind === "observed" ? { ...subject, answer: foldRoutes(subject.answer, done) } : subject,
};

/** The subject with what the cloud says of it, parsed. */
function read({ object, answer, hint }: Subject<ClusterObject, Answer>): RouteSubject {
  return { object, answer: observed(answer), hint };
}

/** What a capability says is JSON until it was read. */
function observed(answer: Answer | undefined): Answer | undefined {
  if (answer?.kind !== "observed" || answer.pass !== undefined) return answer;
  const parsed = RouteState.safeParse(answer.state);
  if (parsed.success) return { kind: "observed", state: parsed.data };
  return { kind: "error", code: "Invalid", message: "what the cloud says of routes cannot be read" };
}
