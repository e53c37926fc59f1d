import { CLUSTER, type ClusterObject } from "#core/cluster-object.ts";
import type { AskContext, DecisionContext } from "#core/controller.ts";
import type { CloudAction, ClusterEvent, Decision, PatchWrite } from "#core/decision.ts";
import { change, leaveUnchanged, patchObject, retry, skip, toReference } from "#core/decisions.ts";
import type { ObjectHint } from "#core/event.ts";
import { add, type Edit, formatPointer, test } from "#core/json-patch.ts";
import type { ObjectReference, Reason } from "#core/reason.ts";
import { NODES } from "#core/resources/resource.ts";
import { buildIssueEvent, createLastingIssue, DELETED, type Issue, toIssue } from "#core/route/issues.ts";
import {
  describePass,
  formatConditionKey,
  hasDeleted,
  NO_PASS,
  type NodeProof,
  type Pass,
  proveNodes,
} from "#core/route/pass.ts";
import { type NodePhase, type Plan, planRoutes } from "#core/route/plan.ts";
import {
  collectDesiredRoutes,
  isConfigured,
  NETWORK_UNAVAILABLE,
  parseClusterNetworks,
  type RouteNode,
  selectRouteNodes,
} from "#core/route/related-node.ts";
import { isStopped } from "#core/route/stale-routes.ts";
import { QUOTA_CODE, type RouteState, type RouteTables, type Step } from "#core/route/state.ts";
import { describeStop, type Stop } from "#core/stop.ts";

/** The facts about a cluster's routes, and the writes tried since. */
export interface RouteAnswer {
  readonly kind: "observed";
  readonly state: RouteState;
  readonly pass?: Pass;
}

/** The cloud's answer about a cluster, and the hints of the event's sender. */
export interface RouteSubject {
  readonly object: ClusterObject;
  readonly answer:
    | RouteAnswer
    | { readonly kind: "error"; readonly code: string; readonly message: string }
    | undefined;
  readonly hint: ObjectHint | undefined;
}

/** Decides on the routes of a cluster and on the conditions of its nodes. */
export function decideRoutes(subject: RouteSubject, context: DecisionContext): Decision {
  const { object: cluster, answer } = subject;
  const { related, settings, now, stop } = context;
  const { routes } = settings;
  const reference = toReference(CLUSTER.resource, cluster);
  if (!isConfigured(routes)) return skip(reference, NOT_CONFIGURED);
  const nodes = selectRouteNodes(related);
  if (nodes === undefined) return retry(reference, NODES_UNKNOWN, 5);
  if (answer === undefined || answer.kind === "error") {
    const because = answer ?? { code: "Unavailable", message: "the cloud gave no answer" };
    const { code, message } = because;
    return retry(reference, { code, message }, toIssue({ code, message }).afterSeconds);
  }
  const { state, pass = NO_PASS } = answer;
  if (state.kind === "no-tables") return decideWithoutTables(reference, nodes, state.message);
  const proof = proveNodes(context, parseClusterNetworks(routes));
  const plan = planUnder(proof, { state, pass }, nodes, subject.hint, context);
  return decidePlan(reference, cluster, nodes, plan, pass, { now, stop });
}

/**
 * Returns the plan for the current facts under a given proof of the nodes; undefined if there is nothing to
 * plan.
 */
export function planWith(
  proof: NodeProof,
  { answer, hint }: RouteSubject,
  context: AskContext,
): Plan | undefined {
  const nodes = selectRouteNodes(context.related);
  if (nodes === undefined || answer?.kind !== "observed" || answer.state.kind !== "tables") return undefined;
  const { state, pass = NO_PASS } = answer;
  return planUnder(proof, { state, pass }, nodes, hint, context);
}

function planUnder(
  proof: NodeProof,
  observed: { readonly state: RouteTables; readonly pass: Pass },
  nodes: readonly RouteNode[],
  hint: ObjectHint | undefined,
  { settings: { routes }, reason, stop }: AskContext,
): Plan {
  const networks = parseClusterNetworks(routes);
  const waited = new Map(hint?.candidates?.map(({ id, seconds }) => [id, seconds]));
  const rules = { waited, isSweep: reason === "sweep", stop };
  return planRoutes(nodes, {
    ...observed,
    networks,
    desired: collectDesiredRoutes(nodes, networks),
    rules,
    proof,
  });
}

const NOT_CONFIGURED = {
  code: "NotConfigured",
  message: "the configuration requests no routes (routes.configure, routes.clusterCIDRs)",
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
  const actions = plan.steps.map((step) => buildAction(step, cluster));
  const conditions = nodes.flatMap(
    (node) => planCondition(node, plan.standings.get(node.name), pass, now) ?? [],
  );
  const writes = [...actions, ...conditions];
  const because = { code: "RoutesChanged", message: describePass(pass, writes) };
  return (
    change(reference, writes, { because, independent: true }) ??
    finishDecision(reference, nodes, plan, pass, stop)
  );
}

function buildAction(
  { action, target, parameters }: Step,
  { metadata: { uid } }: ClusterObject,
): CloudAction {
  return {
    on: "cloud",
    capability: "routes",
    action,
    target,
    parameters,
    precondition: { uid, deleting: false },
  };
}

function planCondition(
  node: RouteNode,
  phase: NodePhase | undefined,
  { done, failed }: Pass,
  now: Date,
): PatchWrite | undefined {
  const key = formatConditionKey(node.name);
  if (node.deleting === true || done.has(key) || failed.has(key)) return undefined;
  switch (phase?.kind) {
    case "routed":
      return buildConditionPatch(node, true, now);
    case "issue":
      return phase.issue.isOpen === true ? undefined : buildConditionPatch(node, false, now);
    default:
      return undefined;
  }
}

/** Returns the decision when nothing more can be done now. */
function finishDecision(
  reference: ObjectReference,
  nodes: readonly RouteNode[],
  plan: Plan,
  pass: Pass,
  stop: Stop | undefined,
): Decision {
  const { failed } = pass;
  const nodeIssues = nodes.flatMap((node): NodeIssue[] => {
    const phase = plan.standings.get(node.name);
    return phase?.kind === "issue" ? [{ node, issue: phase.issue }] : [];
  });
  const conditionIssues = nodes
    .flatMap(({ name }) => failed.get(formatConditionKey(name)) ?? [])
    .map(toIssue);
  const deleted = hasDeleted(pass) ? [DELETED] : [];
  const issues = [...nodeIssues.map(({ issue }) => issue), ...plan.undeleted, ...conditionIssues, ...deleted];
  const [first, ...others] = issues;
  if (first !== undefined) {
    const routed = nodes.filter(({ name }) => plan.standings.get(name)?.kind === "routed");
    const afterSeconds = Math.min(...[first, ...others].map((issue) => issue.afterSeconds));
    return retry(
      reference,
      summarizeIssues([first, ...others]),
      afterSeconds,
      buildEvents(nodeIssues, routed),
    );
  }
  const stoppedCount = plan.stale.filter((route) => isStopped(route, stop)).length;
  if (stop !== undefined && stoppedCount > 0)
    return skip(reference, describeStop(stop, `${stoppedCount} routes lead to no node, and stay`));
  if (plan.unproven === 0) return leaveUnchanged(reference);
  const message = `${plan.unproven} routes lead to no node, and stay: nothing shows that the nodes and tables that we see are the cluster's`;
  return skip(reference, { code: "DeletionUnproven", message });
}

interface NodeIssue {
  readonly node: RouteNode;
  readonly issue: Issue;
}

/** The maximum number of Events on nodes; more in one pass would be dropped anyway. */
const MAX_EVENTS = 20;

function buildEvents(nodeIssues: readonly NodeIssue[], routed: readonly RouteNode[]): ClusterEvent[] {
  const eventIssues = nodeIssues.flatMap(({ node, issue: { event } }) =>
    event === undefined ? [] : [{ node, event }],
  );
  const full = eventIssues.find(({ event }) => event === QUOTA_CODE);
  return eventIssues
    .filter((each) => each.event !== QUOTA_CODE || each === full)
    .slice(0, MAX_EVENTS)
    .map(({ node, event }) => buildIssueEvent(node, event, routed));
}

/** The first issue that a person must fix, and the number of issues. */
function summarizeIssues(issues: readonly [Issue, ...Issue[]]): Reason {
  const { code, message } = issues.find(({ event }) => event !== undefined) ?? issues[0];
  const alike = issues.filter((issue) => issue.code === code);
  const otherCount = issues.length - alike.length;
  return { code, message: `${alike.length} × ${message}${otherCount === 0 ? "" : `; ${otherCount} others`}` };
}

function decideWithoutTables(
  reference: ObjectReference,
  nodes: readonly RouteNode[],
  message: string,
): Decision {
  // Nodes with routes get no Event: no issue of theirs is known.
  const waiting = nodes.filter(
    ({ podCIDRs = [], condition }) => podCIDRs.length > 0 && condition?.status !== "False",
  );
  const { code, afterSeconds } = createLastingIssue("RouteTableMissing", message);
  const events = waiting.slice(0, MAX_EVENTS).map((node) => buildIssueEvent(node, "RouteTableMissing", []));
  return retry(reference, { code, message }, afterSeconds, events);
}

/** The condition's fields, with the stock controller's sentences. */
const SAYS = {
  routed: { status: "False", reason: "RouteCreated", message: "RouteController created a route" },
  unrouted: {
    status: "True",
    reason: "NoRouteCreated",
    message: "RouteController failed to create a route",
  },
} as const;

/** Returns the patch that sets a node's condition about its routes; undefined if it is already correct. */
function buildConditionPatch(node: RouteNode, isRouted: boolean, now: Date): PatchWrite | undefined {
  const says = isRouted ? SAYS.routed : SAYS.unrouted;
  const { condition } = node;
  if (condition?.status === says.status && condition.reason === says.reason) return undefined;
  const at = now.toISOString().replace(/\.\d+Z$/, "Z");
  const fields = { ...says, lastTransitionTime: at, lastHeartbeatTime: at };
  const metadata = { name: node.name, uid: node.uid };
  return patchObject(NODES, { metadata }, [buildEdit(node, fields)], "status");
}

const CONDITIONS = formatPointer("status", "conditions");

/**
 * An existing condition is changed field by field: `add` before an index would insert a second one, and
 * others' fields stay. A new one is appended after the last, which must still be the last, because
 * kube-apiserver counts a negative index from the end.
 */
function buildEdit({ condition, lastCondition }: RouteNode, fields: Readonly<Record<string, string>>): Edit {
  if (condition !== undefined) {
    const path = `${CONDITIONS}${formatPointer(condition.at)}`;
    return {
      tests: [test(`${path}/type`, NETWORK_UNAVAILABLE), test(`${path}/status`, condition.status ?? null)],
      operations: Object.entries(fields).map(([field, value]) => add(`${path}/${field}`, value)),
    };
  }
  const whole = { type: NETWORK_UNAVAILABLE, ...fields };
  if (typeof lastCondition !== "string") {
    const testedValue = lastCondition === null ? [] : null;
    return { tests: [test(CONDITIONS, testedValue)], operations: [add(CONDITIONS, [whole])] };
  }
  return {
    tests: [test(`${CONDITIONS}/-1/type`, lastCondition)],
    operations: [add(`${CONDITIONS}/-`, whole)],
  };
}
