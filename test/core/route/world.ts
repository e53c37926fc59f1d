import { canonicalizeCidr } from "#core/cidr.ts";
import { CLUSTER, type ClusterObject } from "#core/cluster-object.ts";
import type { DecisionContext, DoneWrite, Subject } from "#core/controller.ts";
import type { CloudAction, Decision, PatchWrite, Write } from "#core/decision.ts";
import type { ObjectHint } from "#core/event.ts";
import { applyOperations } from "#core/json-patch.ts";
import type { Reason } from "#core/reason.ts";
import { routeController } from "#core/route/controller.ts";
import { formatWriteKey } from "#core/route/pass.ts";
import { routeNodes } from "#core/route/related-node.ts";
import type { Machine, Route, RouteState, RouteTable, Target } from "#core/route/state.ts";
import { DEFAULT_SETTINGS, type Settings } from "#core/settings.ts";

export const NOW = new Date("2026-03-01T12:00:00.500Z");

export const SETTINGS: Settings = {
  ...DEFAULT_SETTINGS,
  routes: {
    configure: true,
    clusterCIDRs: ["100.64.0.0/10", "fd00:10::/48"],
    reconciliationSeconds: 600,
  },
};

export const KUBE_SYSTEM: ClusterObject = {
  metadata: {
    name: "kube-system",
    uid: "uid-of-cluster",
    resourceVersion: "7",
    creationTimestamp: "2026-01-01T00:00:00Z",
  },
};

/** Builds a node as on its API server. */
export interface RawNode {
  readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly providerID?: string; readonly podCIDRs?: readonly string[] };
  readonly status: { readonly conditions?: readonly Readonly<Record<string, unknown>>[] };
}

const READY = { type: "Ready", status: "True", reason: "KubeletReady" };
export const ROUTED = { type: "NetworkUnavailable", status: "False", reason: "RouteCreated" };

/** Builds a node with one network, whose machine has its name. It has no condition about routes yet. */
export function buildRawNode(name: string, podCIDR?: string, difference: Partial<RawNode> = {}): RawNode {
  return {
    metadata: { name, uid: `uid-${name}`, ...difference.metadata },
    spec: {
      providerID: `fake:///${name}`,
      ...(podCIDR === undefined ? {} : { podCIDRs: [podCIDR] }),
      ...difference.spec,
    },
    status: { conditions: [READY], ...difference.status },
  };
}

/** Builds a node whose condition reports its routes. */
export function buildRoutedNode(name: string, podCIDR: string): RawNode {
  return buildRawNode(name, podCIDR, { status: { conditions: [READY, ROUTED] } });
}

/** A machine that is ready for routes. */
export function buildReadyMachine(
  id: string,
  difference: Partial<Extract<Machine, { kind: "ready" }>> = {},
): Machine {
  return { kind: "ready", id, target: { instance: id }, forwards: true, running: true, ...difference };
}

/** A route to a machine. */
export function buildRoute(cidr: string, to: string | Target, difference: Partial<Route> = {}): Route {
  const target: Target = typeof to === "string" ? { kind: "machine", id: to } : to;
  return { cidr: canonicalizeCidr(cidr) ?? cidr, target, blackhole: false, ...difference };
}

export function buildTable(routes: readonly Route[], difference: Partial<RouteTable> = {}): RouteTable {
  return {
    id: "rtb-1",
    size: routes.length + 2,
    networks: ["10.0.0.0/16"],
    routes: [...routes],
    ...difference,
  };
}

/** The cloud's answer: the given tables, and by default for each node a machine with its name. */
export function buildState(
  tables: readonly RouteTable[],
  nodes: readonly RawNode[],
  machines: Readonly<Record<string, Machine>> = {},
): RouteState {
  const known = Object.fromEntries(nodes.map(({ metadata: { name } }) => [name, buildReadyMachine(name)]));
  return { kind: "tables", tables: [...tables], machines: { ...known, ...machines } };
}

/** The context in which all nodes are counted and listed, as before a route is deleted. */
export function buildProvenContext(nodes: readonly RawNode[], settings = SETTINGS): DecisionContext {
  const context = buildContext(nodes, settings);
  const items = context.related["nodes"]?.items ?? [];
  return { ...context, count: { kind: "count", count: items.length }, listed: { kind: "list", items } };
}

/** The sender's hint that every report has contained these candidates for a number of seconds. */
export function buildHint(ids: readonly string[] | undefined, seconds: number): ObjectHint {
  return { candidates: (ids ?? []).map((id) => ({ id, seconds })) };
}

/** The context of a decision in a cluster with these nodes; undefined nodes are unknown. */
export function buildContext(nodes: readonly RawNode[] | undefined, settings = SETTINGS): DecisionContext {
  const items = (nodes ?? []).flatMap((node) => routeNodes.project(node) ?? []);
  return {
    reason: "watch",
    now: NOW,
    settings,
    related: nodes === undefined ? {} : { nodes: { resourceVersion: "9", items } },
  };
}

export type RouteSubject = Parameters<NonNullable<typeof routeController.applyResult>>[0];

export function buildSubject(answer: unknown, hint?: ObjectHint): RouteSubject {
  return { object: KUBE_SYSTEM, answer, hint } as RouteSubject;
}

/** The context of a check 15 s after the first one, which found the state unchanged. */
export function buildConfirmedSubject(said: RouteState, context: DecisionContext): RouteSubject {
  const first = buildSubject({ kind: "observed", state: said });
  return buildSubject(first.answer, buildHint(routeController.listCandidates?.(first, context), 15));
}

export function decide(subject: RouteSubject, context: DecisionContext): Decision {
  const plan = routeController.decide([subject], context);
  const [decision] = plan.kind === "each" ? plan.decisions : [];
  if (decision === undefined) throw new Error("nothing was decided");
  return decision;
}

/** Decides once on the cloud's answer. */
export function decideOn(said: RouteState, nodes: readonly RawNode[]): Decision {
  return decide(buildSubject({ kind: "observed", state: said }), buildContext(nodes));
}

/** The failure of a write; undefined if it succeeds. */
export type Answer = (write: Write) => Reason | undefined;

/**
 * Decides and applies decisions until nothing is left. Returns all writes by key, the last decision, and the
 * final facts. By default it is the second check, with the nodes proven.
 */
export function carryOut(
  said: RouteState,
  nodes: readonly RawNode[],
  answer: Answer = () => undefined,
  context: DecisionContext = buildProvenContext(nodes),
  first: RouteSubject = buildConfirmedSubject(said, context),
) {
  const writes: Write[] = [];
  let subject = first;
  let after: readonly RawNode[] = nodes;
  for (let round = 0; round < 200; round += 1) {
    const decision = decide(subject, context);
    if (decision.kind !== "change")
      return { decision, writes, subject, nodes: after, keys: writes.map(formatWriteKey) };
    if (decision.independent !== true) throw new Error("writes wait for each other");
    for (const write of decision.writes) {
      writes.push(write);
      const failed = answer(write);
      const done: DoneWrite = { write, result: {}, ...(failed === undefined ? {} : { failed }) };
      subject = routeController.applyResult?.(subject, done) ?? subject;
      if (failed === undefined && write.on === "cluster") after = after.map((node) => written(node, write));
    }
  }
  throw new Error("no end");
}

function written(node: RawNode, write: Write): RawNode {
  if (write.on !== "cluster" || write.verb !== "patch" || write.name !== node.metadata.name) return node;
  return applyOperations(node, write.patch);
}

/** Actions as `create rtb-1 100.64.0.0/24`. */
export function formatActions(writes: readonly Write[]): readonly string[] {
  return writes.filter((write): write is CloudAction => write.on === "cloud").map(formatWriteKey);
}

export function selectPatches(writes: readonly Write[]): readonly PatchWrite[] {
  return writes.filter((write): write is PatchWrite => write.on === "cluster" && write.verb === "patch");
}

export const CLUSTER_RESOURCE = CLUSTER.resource;
export type AnySubject = Subject;
