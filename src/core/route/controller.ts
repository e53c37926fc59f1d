import { canonicalizeCidr, formatCidr } from "#core/cidr.ts";
import { CLUSTER, type ClusterObject } from "#core/cluster-object.ts";
import { ROUTE_EVENT_SOURCE } from "#core/contracts.ts";
import type { Controller, DoneWrite, Subject } from "#core/controller.ts";
import type { CloudAction } from "#core/decision.ts";
import { planEach } from "#core/decisions.ts";
import { NAMESPACES, NODES } from "#core/resources/resource.ts";
import { decideRoutes, planWith, type RouteAnswer, type RouteSubject } from "#core/route/decide.ts";
import { ASSUMED_PROOF, formatWriteKey, NO_PASS } from "#core/route/pass.ts";
import {
  collectDesiredRoutes,
  isConfigured,
  parseClusterNetworks,
  routeNodes,
  selectRouteNodes,
} from "#core/route/related-node.ts";
import { isStopped, listCandidateIds } from "#core/route/stale-routes.ts";
import {
  ACTIONS,
  type Machine,
  type Route,
  type RouteQuestion,
  RouteState,
  type RouteTable,
  type RouteTables,
} from "#core/route/state.ts";
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
  return { kind: "error", code: "Invalid", message: "the cloud's answer about routes is invalid" };
}

/** Returns the facts after a write, and records that it was tried. */
export function applyResult(answer: RouteAnswer, { write, failed }: DoneWrite): RouteAnswer {
  const { state, pass = NO_PASS } = answer;
  const key = formatWriteKey(write);
  if (failed !== undefined)
    return { ...answer, pass: { ...pass, failed: new Map(pass.failed).set(key, failed) } };
  const after = { ...answer, pass: { ...pass, done: new Set(pass.done).add(key) } };
  if (write.on !== "cloud" || state.kind !== "tables") return after;
  return { ...after, state: applyAction(state, write) };
}

function applyAction(state: RouteTables, { action, parameters }: CloudAction): RouteTables {
  switch (action) {
    case "create":
    case "replace": {
      const { table, cidr: text, target } = ACTIONS[action].parse(parameters);
      const cidr = canonicalizeCidr(text) ?? text;
      const id = Object.values(state.machines).find((machine) => isAt(machine, target))?.id ?? "";
      const route: Route = { cidr, text, target: { kind: "machine", id }, blackhole: false };
      return replaceTableRoutes(state, table, cidr, [route]);
    }
    case "delete": {
      const { table, cidr } = ACTIONS.delete.parse(parameters);
      return replaceTableRoutes(state, table, canonicalizeCidr(cidr) ?? cidr, []);
    }
    case "forward": {
      const { target } = ACTIONS.forward.parse(parameters);
      const machines = Object.entries(state.machines).map(([name, machine]): [string, Machine] => [
        name,
        isAt(machine, target) ? { ...machine, forwards: true } : machine,
      ]);
      return { ...state, machines: Object.fromEntries(machines) };
    }
    default:
      return state;
  }
}

type Ready = Extract<Machine, { readonly kind: "ready" }>;

function isAt(machine: Machine, target: Readonly<Record<string, string>>): machine is Ready {
  return machine.kind === "ready" && JSON.stringify(machine.target) === JSON.stringify(target);
}

function replaceTableRoutes(
  state: RouteTables,
  table: string,
  cidr: string,
  routes: readonly Route[],
): RouteTables {
  const changed = (each: RouteTable): RouteTable => {
    const others = each.routes.filter((route) => route.cidr !== cidr);
    const size = each.size - (each.routes.length - others.length) + routes.length;
    return { ...each, size, routes: [...others, ...routes] };
  };
  return { ...state, tables: state.tables.map((each) => (each.id === table ? changed(each) : each)) };
}
