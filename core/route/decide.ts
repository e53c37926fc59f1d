import type { ClusterObject } from "#core/cluster-object.ts";
import { CLUSTER } from "#core/cluster-object.ts";
import type { AskContext, DecisionContext } from "#core/controller.ts";
import type {
  Because,
  CloudAction,
  ClusterEvent,
  Decision,
  ObjectReference,
  PatchWrite,
} from "#core/decision.ts";
import { change, referenceTo, retry, skip, unchanged } from "#core/decisions.ts";
import type { ObjectHint } from "#core/event.ts";
import { conditionPatch } from "#core/route/condition.ts";
import { conditionKey, hasDeleted, NO_PASS, type Pass, sentenceOf } from "#core/route/pass.ts";
import { type Plan, planRoutes, type Standing } from "#core/route/plan.ts";
import { DELETED, eventOf, lastingProblem, type Problem, problemOf } from "#core/route/problems.ts";
import { type NodeProof, proveNodes } from "#core/route/proof.ts";
import { nodesIn, type RouteNode } from "#core/route/related-node.ts";
import { isStopped } from "#core/route/stale.ts";
import { QUOTA_CODE, type RouteState, type RouteTables, type Step } from "#core/route/state.ts";
import { clusterNetworks, isConfigured, wantedRoutes } from "#core/route/wanted.ts";
import { becauseOfStop, type Stop } from "#core/stop.ts";

/** What is known of a cluster's routes, and what was tried since. */
export interface RouteAnswer {
  readonly kind: "observed";
  readonly state: RouteState;
  readonly pass?: Pass;
}

/** What was answered about a cluster, and what the sender of the event remembers of it. */
export interface RouteSubject {
  readonly object: ClusterObject;
  readonly answer:
    | RouteAnswer
    | { readonly kind: "error"; readonly code: string; readonly message: string }
    | undefined;
  readonly hint: ObjectHint | undefined;
}

/** Decides on the routes of a cluster and on what its nodes say of them. */
export function decideRoutes(subject: RouteSubject, context: DecisionContext): Decision {
  const { object: cluster, answer } = subject;
  const { related, settings, now, stop } = context;
  const { routes } = settings;
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
  if (state.kind === "no-tables") return withoutTables(reference, nodes, state.message);
  const proof = proveNodes(context, clusterNetworks(routes));
  const plan = planUnder(proof, { state, pass }, nodes, subject.hint, context);
  return decidePlan(reference, cluster, nodes, plan, pass, { now, stop });
}

/** The plan for what is known of a cluster by now, were this the proof of its nodes; undefined where there is nothing to plan for. */
export function planWith(
  proof: NodeProof,
  { answer, hint }: RouteSubject,
  context: AskContext,
): Plan | undefined {
  const nodes = nodesIn(context.related);
  if (nodes === undefined || answer?.kind !== "observed" || answer.state.kind !== "tables") return undefined;
  const { state, pass = NO_PASS } = answer;
  return planUnder(proof, { state, pass }, nodes, hint, context);
}

function planUnder(
  proof: NodeProof,
  known: { readonly state: RouteTables; readonly pass: Pass },
  nodes: readonly RouteNode[],
  hint: ObjectHint | undefined,
  { settings: { routes }, reason, stop }: AskContext,
): Plan {
  const networks = clusterNetworks(routes);
  const waited = new Map(hint?.candidates?.map(({ id, seconds }) => [id, seconds]));
  const rules = { waited, isSweep: reason === "sweep", stop };
  return planRoutes(nodes, { ...known, networks, wanted: wantedRoutes(nodes, networks), rules, proof });
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
  { now, stop }: Pick<DecisionContext, "now" | "stop">,
): Decision {
  const actions = plan.steps.map((step) => actionOf(step, cluster));
  const conditions = nodes.flatMap(
    (node) => conditionOf(node, plan.standings.get(node.name), pass, now) ?? [],
  );
  const writes = [...actions, ...conditions];
  const because = { code: "RoutesChanged", message: sentenceOf(pass, writes) };
  return (
    change(reference, writes, { because, independent: true }) ?? settled(reference, nodes, plan, pass, stop)
  );
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
  pass: Pass,
  stop: Stop | undefined,
): Decision {
  const { failed } = pass;
  const troubled = nodes.flatMap((node): Troubled[] => {
    const standing = plan.standings.get(node.name);
    return standing?.kind === "problem" ? [{ node, problem: standing.problem }] : [];
  });
  const unsaid = nodes.flatMap(({ name }) => failed.get(conditionKey(name)) ?? []).map(problemOf);
  const deleted = hasDeleted(pass) ? [DELETED] : [];
  const all = [...troubled.map(({ problem }) => problem), ...plan.undeleted, ...unsaid, ...deleted];
  const [first, ...others] = all;
  if (first !== undefined) {
    const routed = nodes.filter(({ name }) => plan.standings.get(name)?.kind === "routed");
    const afterSeconds = Math.min(...[first, ...others].map((problem) => problem.afterSeconds));
    return retry(reference, summaryOf([first, ...others]), afterSeconds, eventsOf(troubled, routed));
  }
  const held = plan.stale.filter((route) => isStopped(route, stop)).length;
  if (stop !== undefined && held > 0)
    return skip(reference, becauseOfStop(stop, `${held} routes lead to no node, and stay`));
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
