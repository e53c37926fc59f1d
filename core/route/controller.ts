import { formatCidr } from "#core/cidr.ts";
import { CLUSTER, type ClusterObject } from "#core/cluster-object.ts";
import { ROUTE_EVENT_SOURCE } from "#core/contracts.ts";
import type { Controller, Subject } from "#core/controller.ts";
import { planEach } from "#core/decisions.ts";
import { NAMESPACES, NODES } from "#core/resources/resource.ts";
import { applyResult } from "#core/route/apply-result.ts";
import { decideRoutes, planWith, type RouteAnswer, type RouteSubject } from "#core/route/decide.ts";
import { collectDesiredRoutes, isConfigured, parseClusterNetworks } from "#core/route/desired-routes.ts";
import { ASSUMED_PROOF } from "#core/route/proof.ts";
import { routeNodes, selectRouteNodes } from "#core/route/related-node.ts";
import { isStopped, listCandidateIds } from "#core/route/stale-routes.ts";
import { type RouteQuestion, RouteState } from "#core/route/state.ts";
import { routeWatch } from "#core/route/watch.ts";

/** The cloud's answer about routes. */
type Answer = RouteAnswer | { readonly kind: "error"; readonly code: string; readonly message: string };

/**
 * The node-route-controller: routes to the pods of each node in the cluster's route tables, and the condition
 * on nodes.
 */
export const routeController: Controller<ClusterObject, Answer> = {
  ...routeWatch,
  eventSource: ROUTE_EVENT_SOURCE,
  buildQuestion(_, { related, settings: { routes } }) {
    const nodes = selectRouteNodes(related);
    if (nodes === undefined || !isConfigured(routes)) return undefined;
    const networks = parseClusterNetworks(routes);
    const providerIDs = new Map(nodes.map(({ name, providerID }) => [name, providerID]));
    const { byNode } = collectDesiredRoutes(nodes, networks);
    const ask: RouteQuestion = {
      clusterCIDRs: networks.map(formatCidr),
      nodes: [...byNode].map(([name, cidrs]) => {
        const providerID = providerIDs.get(name);
        return { name, ...(providerID === undefined ? {} : { providerID }), cidrs };
      }),
    };
    return { capability: "routes", ask };
  },
  // A list of nodes may be old: nodes are counted before a route is deleted, and listed before one is taken
  // from a live instance.
  getStateReference(batch, context) {
    const plans = batch.flatMap((subject) => planWith(ASSUMED_PROOF, read(subject), context) ?? []);
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
    const plan = planWith(ASSUMED_PROOF, read(subject), context);
    return plan && [...listCandidateIds(plan.stale)];
  },
  decide: (batch, context) => planEach(batch.map((subject) => decideRoutes(read(subject), context))),
  applyResult: (subject, done) =>
    subject.answer?.kind === "observed" ? { ...subject, answer: applyResult(subject.answer, done) } : subject,
};

/** The subject with the cloud's answer, parsed. */
function read({ object, answer, hint }: Subject<ClusterObject, Answer>): RouteSubject {
  return { object, answer: parseObservation(answer), hint };
}

/** A capability's answer is unparsed JSON. */
function parseObservation(answer: Answer | undefined): Answer | undefined {
  if (answer?.kind !== "observed" || answer.pass !== undefined) return answer;
  const parsed = RouteState.safeParse(answer.state);
  if (parsed.success) return { kind: "observed", state: parsed.data };
  return { kind: "error", code: "Invalid", message: "what the cloud says of routes cannot be read" };
}
