import { canonicalCidr } from "#core/cidr.ts";
import { CLUSTER, type ClusterObject } from "#core/cluster-object.ts";
import type { DecisionContext, DoneWrite, Subject } from "#core/controller.ts";
import type { Because, CloudAction, Decision, PatchWrite, Write } from "#core/decision.ts";
import type { ObjectHint } from "#core/event.ts";
import { patched } from "#core/json-patch.ts";
import { routeController } from "#core/route/controller.ts";
import { keyOf } from "#core/route/pass.ts";
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

/** A node as its API server has it. */
export interface RawNode {
  readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly providerID?: string; readonly podCIDRs?: readonly string[] };
  readonly status: { readonly conditions?: readonly Readonly<Record<string, unknown>>[] };
}

const READY = { type: "Ready", status: "True", reason: "KubeletReady" };
export const ROUTED = { type: "NetworkUnavailable", status: "False", reason: "RouteCreated" };

/** A node with one network, whose machine is called like it; it has not been told anything of routes. */
export function rawNode(name: string, podCIDR?: string, difference: Partial<RawNode> = {}): RawNode {
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

/** The same, as one that has its routes says. */
export function routedNode(name: string, podCIDR: string): RawNode {
  return rawNode(name, podCIDR, { status: { conditions: [READY, ROUTED] } });
}

/** A machine that is ready to be routed to. */
export function ready(id: string, difference: Partial<Extract<Machine, { kind: "ready" }>> = {}): Machine {
  return { kind: "ready", id, target: { instance: id }, forwards: true, running: true, ...difference };
}

/** A route to a machine. */
export function route(cidr: string, to: string | Target, difference: Partial<Route> = {}): Route {
  const target: Target = typeof to === "string" ? { kind: "machine", id: to } : to;
  return { cidr: canonicalCidr(cidr) ?? cidr, target, blackhole: false, ...difference };
}

export function table(routes: readonly Route[], difference: Partial<RouteTable> = {}): RouteTable {
  return {
    id: "rtb-1",
    size: routes.length + 2,
    networks: ["10.0.0.0/16"],
    routes: [...routes],
    ...difference,
  };
}

/** What the cloud says: those tables, and for each node a machine of its name unless that is said otherwise. */
export function state(
  tables: readonly RouteTable[],
  nodes: readonly RawNode[],
  machines: Readonly<Record<string, Machine>> = {},
): RouteState {
  const known = Object.fromEntries(nodes.map(({ metadata: { name } }) => [name, ready(name)]));
  return { kind: "tables", tables: [...tables], machines: { ...known, ...machines } };
}

/** The context in which all nodes are counted and listed, as they are before a route is taken away. */
export function provenContextOf(nodes: readonly RawNode[], settings = SETTINGS): DecisionContext {
  const context = contextOf(nodes, settings);
  const items = context.related["nodes"]?.items ?? [];
  return { ...context, count: { kind: "count", count: items.length }, listed: { kind: "list", items } };
}

/** What the sender of an event remembers where every report has named these candidates for so long. */
export function hintOf(ids: readonly string[] | undefined, seconds: number): ObjectHint {
  return { candidates: (ids ?? []).map((id) => ({ id, seconds })) };
}

/** The context of a decision in which the cluster has these nodes; none of them are known where they are undefined. */
export function contextOf(nodes: readonly RawNode[] | undefined, settings = SETTINGS): DecisionContext {
  const items = (nodes ?? []).flatMap((node) => routeNodes.project(node) ?? []);
  return {
    reason: "watch",
    now: NOW,
    settings,
    related: nodes === undefined ? {} : { nodes: { resourceVersion: "9", items } },
  };
}

export type RouteSubject = Parameters<NonNullable<typeof routeController.fold>>[0];

export function subjectOf(answer: unknown, hint?: ObjectHint): RouteSubject {
  return { object: KUBE_SYSTEM, answer, hint } as RouteSubject;
}

/** The same at a look 15 s after the first one, to which everything looked as it does now. */
export function confirmedSubject(said: RouteState, context: DecisionContext): RouteSubject {
  const first = subjectOf({ kind: "observed", state: said });
  return subjectOf(first.answer, hintOf(routeController.listCandidates?.(first, context), 15));
}

export function decide(subject: RouteSubject, context: DecisionContext): Decision {
  const plan = routeController.decide([subject], context);
  const [decision] = plan.kind === "each" ? plan.decisions : [];
  if (decision === undefined) throw new Error("nothing was decided");
  return decision;
}

/** Decides once on what the cloud says. */
export function decideOn(said: RouteState, nodes: readonly RawNode[]): Decision {
  return decide(subjectOf({ kind: "observed", state: said }), contextOf(nodes));
}

/** How a write is answered; undefined where it is done. */
export type Answer = (write: Write) => Because | undefined;

/**
 * Decides, and carries out what is decided, until nothing is left: all writes by key, the last decision, and what is known then. It is the
 * second look, with the nodes proven, unless a subject and a context are given.
 */
export function carryOut(
  said: RouteState,
  nodes: readonly RawNode[],
  answer: Answer = () => undefined,
  context: DecisionContext = provenContextOf(nodes),
  first: RouteSubject = confirmedSubject(said, context),
) {
  const writes: Write[] = [];
  let subject = first;
  let after: readonly RawNode[] = nodes;
  for (let round = 0; round < 200; round += 1) {
    const decision = decide(subject, context);
    if (decision.kind !== "change")
      return { decision, writes, subject, nodes: after, keys: writes.map(keyOf) };
    if (decision.independent !== true) throw new Error("writes wait for each other");
    for (const write of decision.writes) {
      writes.push(write);
      const failed = answer(write);
      const done: DoneWrite = { write, result: {}, ...(failed === undefined ? {} : { failed }) };
      subject = routeController.fold?.(subject, done) ?? subject;
      if (failed === undefined && write.on === "cluster") after = after.map((node) => written(node, write));
    }
  }
  throw new Error("no end");
}

function written(node: RawNode, write: Write): RawNode {
  if (write.on !== "cluster" || write.verb !== "patch" || write.name !== node.metadata.name) return node;
  return patched(node, write.patch);
}

/** Actions as `create rtb-1 100.64.0.0/24`. */
export function actionsOf(writes: readonly Write[]): readonly string[] {
  return writes.filter((write): write is CloudAction => write.on === "cloud").map(keyOf);
}

export function patchesOf(writes: readonly Write[]): readonly PatchWrite[] {
  return writes.filter((write): write is PatchWrite => write.on === "cluster" && write.verb === "patch");
}

export const CLUSTER_RESOURCE = CLUSTER.resource;
export type AnySubject = Subject;
