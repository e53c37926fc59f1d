import type { ClusterObject } from "#core/cluster-object.ts";
import { CLUSTER } from "#core/cluster-object.ts";
import type { DecisionContext } from "#core/controller.ts";
import type {
  Because,
  CloudAction,
  ClusterEvent,
  Decision,
  ObjectReference,
  PatchWrite,
} from "#core/decision.ts";
import { change, referenceTo, retry, skip, unchanged } from "#core/decisions.ts";
import { conditionPatch } from "#core/route/condition.ts";
import { conditionKey, NO_PASS, type Pass, sentenceOf } from "#core/route/pass.ts";
import { type Plan, planRoutes, type Standing, type Step } from "#core/route/plan.ts";
import { eventOf, lastingProblem, type Problem, problemOf } from "#core/route/problems.ts";
import { nodesIn, type RouteNode } from "#core/route/related-node.ts";
import { QUOTA_CODE, type RouteState } from "#core/route/state.ts";
import { clusterNetworks, isConfigured, wantedRoutes } from "#core/route/wanted.ts";

/** What is known of a cluster's routes, and what was tried since. */
export interface RouteAnswer {
  readonly kind: "observed";
  readonly state: RouteState;
  readonly pass?: Pass;
}

/** Decides on the routes of a cluster and on what its nodes say of them. */
export function decideRoutes(
  cluster: ClusterObject,
  answer:
    | RouteAnswer
    | { readonly kind: "error"; readonly code: string; readonly message: string }
    | undefined,
  { related, settings: { routes }, now }: DecisionContext,
): Decision {
  const reference = referenceTo(CLUSTER.resource, cluster);
  if (!isConfigured(routes)) return skip(reference, NOT_CONFIGURED);
  const nodes = nodesIn(related);
  if (nodes === undefined) return retry(reference, NODES_UNKNOWN, 5);
  if (answer === undefined || answer.kind === "error") {
    const because = answer ?? { code: "Unavailable", message: "the cloud said nothing" };
    const { code, message } = because;
    return retry(reference, { code, message }, problemOf({ code, message }).afterSeconds);
  }
  const { state, pass = NO_PASS } = answer;
  const networks = clusterNetworks(routes);
  if (state.kind === "no-tables") return withoutTables(reference, nodes, state.message);
  const plan = planRoutes(nodes, { state, networks, pass, wanted: wantedRoutes(nodes, networks) });
  return decidePlan(reference, cluster, nodes, plan, pass, now);
}

const NOT_CONFIGURED = {
  code: "NotConfigured",
  message: "no routes are to be configured (routes.configure, routes.clusterCIDRs)",
};
const NODES_UNKNOWN = { code: "NodesUnknown", message: "the event brings no list of nodes" };

function decidePlan(
  reference: ObjectReference,
  cluster: ClusterObject,
  nodes: readonly RouteNode[],
  plan: Plan,
  pass: Pass,
  now: Date,
): Decision {
  const actions = plan.steps.map((step) => actionOf(step, cluster));
  const conditions = nodes.flatMap(
    (node) => conditionOf(node, plan.standings.get(node.name), pass, now) ?? [],
  );
  const writes = [...actions, ...conditions];
  const because = { code: "RoutesChanged", message: sentenceOf(pass, writes) };
  return change(reference, writes, { because, independent: true }) ?? settled(reference, nodes, plan, pass);
}

function actionOf({ action, target, parameters }: Step, { metadata: { uid } }: ClusterObject): CloudAction {
  return {
    on: "cloud",
    capability: "routes",
    action,
    target,
    parameters,
    precondition: { uid, deleting: false },
  };
}

function conditionOf(
  node: RouteNode,
  standing: Standing | undefined,
  { done, failed }: Pass,
  now: Date,
): PatchWrite | undefined {
  const key = conditionKey(node.name);
  if (node.deleting === true || done.has(key) || failed.has(key)) return undefined;
  switch (standing?.kind) {
    case "routed":
      return conditionPatch(node, true, now);
    case "problem":
      return standing.problem.isOpen === true ? undefined : conditionPatch(node, false, now);
    default:
      return undefined;
  }
}

/** Nothing is left that can be done now. */
function settled(
  reference: ObjectReference,
  nodes: readonly RouteNode[],
  plan: Plan,
  { failed }: Pass,
): Decision {
  const troubled = nodes.flatMap((node): Troubled[] => {
    const standing = plan.standings.get(node.name);
    return standing?.kind === "problem" ? [{ node, problem: standing.problem }] : [];
  });
  const unsaid = nodes.flatMap(({ name }) => failed.get(conditionKey(name)) ?? []).map(problemOf);
  const [first, ...others] = [...troubled.map(({ problem }) => problem), ...plan.undeleted, ...unsaid];
  if (first !== undefined) {
    const routed = nodes.filter(({ name }) => plan.standings.get(name)?.kind === "routed");
    const afterSeconds = Math.min(...[first, ...others].map((problem) => problem.afterSeconds));
    return retry(reference, summaryOf([first, ...others]), afterSeconds, eventsOf(troubled, routed));
  }
  if (plan.unproven === 0) return unchanged(reference);
  const message = `${plan.unproven} routes lead to no node, and stay: nothing shows that the nodes and tables that we see are the cluster's`;
  return skip(reference, { code: "DeletionUnproven", message });
}

interface Troubled {
  readonly node: RouteNode;
  readonly problem: Problem;
}

/** Events on nodes; more than these in a pass would be dropped anyway. */
const MAX_EVENTS = 20;

function eventsOf(troubled: readonly Troubled[], routed: readonly RouteNode[]): ClusterEvent[] {
  const told = troubled.flatMap(({ node, problem: { event } }) =>
    event === undefined ? [] : [{ node, event }],
  );
  const full = told.find(({ event }) => event === QUOTA_CODE);
  return told
    .filter((each) => each.event !== QUOTA_CODE || each === full)
    .slice(0, MAX_EVENTS)
    .map(({ node, event }) => eventOf(node, event, routed));
}

/** The problem that comes first of those that somebody has to mend, how many there are, and what it is. */
function summaryOf(problems: readonly [Problem, ...Problem[]]): Because {
  const { code, message } = problems.find(({ event }) => event !== undefined) ?? problems[0];
  const alike = problems.filter((problem) => problem.code === code);
  const others = problems.length - alike.length;
  return { code, message: `${alike.length} × ${message}${others === 0 ? "" : `; ${others} others`}` };
}

function withoutTables(reference: ObjectReference, nodes: readonly RouteNode[], message: string): Decision {
  // Who has its routes is not told: nothing is known of them.
  const waiting = nodes.filter(
    ({ podCIDRs = [], condition }) => podCIDRs.length > 0 && condition?.status !== "False",
  );
  const { code, afterSeconds } = lastingProblem("RouteTableMissing", message);
  const events = waiting.slice(0, MAX_EVENTS).map((node) => eventOf(node, "RouteTableMissing", []));
  return retry(reference, { code, message }, afterSeconds, events);
}
