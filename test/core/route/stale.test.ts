import { describe, expect, test } from "vitest";
import type { DecisionContext } from "#core/controller.ts";
import { MAX_CANDIDATES } from "#core/event.ts";
import { routeController } from "#core/route/controller.ts";
import type { RouteState, Target } from "#core/route/state.ts";
import {
  actionsOf,
  confirmedSubject,
  contextOf,
  decide,
  hintOf,
  provenContextOf,
  type RawNode,
  type RouteSubject,
  rawNode,
  ready,
  route,
  routedNode,
  state,
  subjectOf,
  table,
} from "#test/core/route/world.ts";

const A = routedNode("a", "100.64.0.0/24");
const ROUTE_TO_A = route("100.64.0.0/24", "a");
const GONE: Target = { kind: "gone" };
const STALE = "100.64.9.0/24";

/** A cluster of one routed node whose table has one route more. */
const withStale = (target: string | Target): RouteState =>
  state([table([ROUTE_TO_A, route(STALE, target, { leadsTo: "i-old" })])], [A]);

const candidatesOf = (subject: RouteSubject, context: DecisionContext) =>
  routeController.listCandidates?.(subject, context);
const stateOf = (subject: RouteSubject, context: DecisionContext) =>
  routeController.stateOf?.([subject], context);
const deletionsOf = (subject: RouteSubject, context: DecisionContext): readonly string[] => {
  const decision = decide(subject, context);
  return decision.kind === "change" ? actionsOf(decision.writes) : [];
};

describe("a stale route", () => {
  const context = provenContextOf([A]);
  const answer = (said: RouteState) => ({ kind: "observed", state: said });

  test.each<[string, string | Target]>([
    ["leads to a live instance", "old"],
    ["leads to an ended instance", GONE],
  ])("that %s is named at the first look and deleted after 15 s", (_, target) => {
    const said = withStale(target);
    const first = subjectOf(answer(said));
    const ids = candidatesOf(first, context);
    expect(ids).toEqual([`rtb-1 ${STALE} i-old`]);
    expect(decide(first, context)).toMatchObject({
      kind: "retry",
      because: { code: "StaleRoutes" },
      afterSeconds: 15,
      events: [],
    });
    expect(decide(subjectOf(answer(said), hintOf(ids, 14.2)), context)).toMatchObject({
      kind: "retry",
      because: { code: "StaleRoutes" },
      afterSeconds: 1,
    });
    const second = decide(subjectOf(answer(said), hintOf(ids, 15)), context);
    expect(second).toMatchObject({
      kind: "change",
      writes: [{ action: "delete", parameters: { table: "rtb-1", cidr: STALE, leadsTo: "i-old" } }],
    });
  });

  test("that leads elsewhere by the second look begins anew", () => {
    const ids = candidatesOf(subjectOf(answer(withStale("old"))), context);
    const moved = state([table([ROUTE_TO_A, route(STALE, "old", { leadsTo: "i-new" })])], [A]);
    expect(decide(subjectOf(answer(moved), hintOf(ids, 60)), context)).toMatchObject({
      because: { code: "StaleRoutes" },
      afterSeconds: 15,
    });
    const nameless = state([table([ROUTE_TO_A, route(STALE, "old"), route("100.64.8.0/24", GONE)])], [A]);
    expect(candidatesOf(subjectOf(answer(nameless)), context)).toEqual([
      "rtb-1 100.64.8.0/24 gone",
      `rtb-1 ${STALE} old`,
    ]);
  });

  test.each<[string, DecisionContext["count"], RegExp]>([
    ["another number of nodes", { kind: "count", count: 2 }, /counts 2 nodes, and the event brings 1/],
    ["no number of nodes", { kind: "unknown", message: "forbidden" }, /cannot be counted: forbidden/],
    ["nothing at all", undefined, /lists other nodes/],
  ])("stays where the API server says %s", (_, count, message) => {
    const decision = decide(confirmedSubject(withStale(GONE), context), { ...context, count });
    expect(decision).toMatchObject({
      kind: "retry",
      because: { code: "NodesIncomplete", message: expect.stringMatching(message) },
      afterSeconds: 5,
    });
  });

  test.each([
    ["what is no node", [{}, "node", null]],
    ["one node again and again", Array.from({ length: 3 }, () => routedNode("a", "100.64.0.0/24"))],
  ])("stays where an event fills up its list by %s", (_, more) => {
    const items = [...(context.related["nodes"]?.items ?? []), ...more];
    const forged: DecisionContext = {
      ...context,
      related: { nodes: { resourceVersion: "1", items } },
      count: { kind: "count", count: items.length },
    };
    expect(decide(confirmedSubject(withStale(GONE), forged), forged)).toMatchObject({
      kind: "retry",
      because: { code: "NodesIncomplete" },
    });
  });

  test.each<[string, DecisionContext["listed"], RegExp]>([
    ["cannot be listed", { kind: "unknown", message: "forbidden" }, /cannot be listed: forbidden/],
    [
      "have one that claims it",
      provenContextOf([routedNode("b", STALE)]).listed,
      /lists other nodes than the event brings/,
    ],
  ])("of a live instance stays where nodes %s, and that of an ended one goes", (_, listed, message) => {
    const old = { ...context, listed };
    expect(decide(confirmedSubject(withStale("old"), context), old)).toMatchObject({
      because: { code: "NodesIncomplete", message: expect.stringMatching(message) },
    });
    expect(deletionsOf(confirmedSubject(withStale(GONE), context), old)).toEqual([`delete rtb-1 ${STALE}`]);
  });

  test.each<[string, string | Target, object | undefined]>([
    ["a live instance has nodes counted and listed", "old", { counted: { name: "nodes" }, listed: {} }],
    ["an ended one has nodes counted", GONE, { counted: { name: "nodes" }, listed: undefined }],
  ])("of %s before it goes, and not before that", (_, target, expected) => {
    expect(stateOf(subjectOf(answer(withStale(target))), context)).toBeUndefined();
    expect(stateOf(confirmedSubject(withStale(target), context), context)).toMatchObject({
      name: "namespaces",
      at: { name: "kube-system" },
      ...expected,
    });
  });

  test("goes at the first look of a sweep where its instance has ended, and never where that lives", () => {
    const sweep = { ...context, reason: "sweep" } as const;
    expect(deletionsOf(subjectOf(answer(withStale(GONE))), sweep)).toEqual([`delete rtb-1 ${STALE}`]);
    expect(deletionsOf(subjectOf(answer(withStale("old"))), sweep)).toEqual([]);
  });

  test.each<["writes" | "deletes" | "unproven", string | Target, boolean]>([
    ["writes", GONE, true],
    ["deletes", GONE, true],
    ["deletes", "old", true],
    ["unproven", "old", true],
    ["unproven", GONE, false],
  ])("under the stop %s, with the target %o, is held: %s", (stop, target, isHeld) => {
    const stopped = { ...context, stop };
    const subject = confirmedSubject(withStale(target), context);
    expect(stateOf(subject, stopped) === undefined).toBe(isHeld);
    expect(decide(subject, stopped)).toMatchObject(
      isHeld ? { kind: "skip", because: { code: "Stopped" } } : { kind: "change" },
    );
  });

  test("is no candidate where nothing shows that the tables are the cluster's, or nothing is known", () => {
    const alone = state([table([route(STALE, "old")])], []);
    expect(candidatesOf(subjectOf(answer(alone)), contextOf([]))).toEqual([]);
    expect(candidatesOf(subjectOf(undefined), context)).toBeUndefined();
    expect(stateOf(subjectOf(undefined), context)).toBeUndefined();
    expect(candidatesOf(subjectOf(answer(withStale(GONE))), contextOf(undefined))).toBeUndefined();
    const none = { kind: "observed", state: { kind: "no-tables", message: "none" } };
    expect(candidatesOf(subjectOf(none), context)).toBeUndefined();
  });

  test("waits its turn among many, behind those that have waited longest", () => {
    const cidrs = Array.from({ length: MAX_CANDIDATES + 20 }, (_, index) => `100.65.${index}.0/24`);
    const said = state([table([ROUTE_TO_A, ...cidrs.map((cidr) => route(cidr, GONE))])], [A]);
    const oldest = `rtb-1 ${cidrs.at(-1)} gone`;
    const named = candidatesOf(subjectOf(answer(said), hintOf([oldest], 3)), context);
    expect([named?.length, named?.[0]]).toEqual([MAX_CANDIDATES, oldest]);
  });
});

describe("a route that leads to another live instance of the cluster", () => {
  const taken = route("100.64.0.0/24", "x", { leadsTo: "i-x" });
  const said = state([table([taken])], [A]);
  const observed = subjectOf({ kind: "observed", state: said });
  const successor = (difference: Partial<RawNode>): RawNode => ({ ...A, ...difference });

  test("is turned to a node once the nodes were listed and have it", () => {
    const context = provenContextOf([A]);
    expect(stateOf(observed, context)).toMatchObject({ counted: undefined, listed: {} });
    expect(decide(observed, context)).toMatchObject({
      kind: "change",
      writes: [{ action: "replace", parameters: { cidr: "100.64.0.0/24", leadsTo: "i-x" } }],
    });
  });

  test.each<[string, readonly RawNode[]]>([
    ["is gone", []],
    ["is another one of that name", [successor({ metadata: { name: "a", uid: "uid-next" } })]],
    ["has another instance", [rawNode("a", "100.64.0.0/24", { spec: { providerID: "fake:///next" } })]],
    ["has another network", [routedNode("a", "100.64.7.0/24")]],
  ])("stays where by that list the node %s, and the node's condition stays as it is", (_, nodes) => {
    const { listed } = provenContextOf(nodes);
    expect(decide(observed, { ...contextOf([A]), listed })).toMatchObject({
      kind: "retry",
      because: { code: "NodesIncomplete" },
      events: [],
    });
  });

  test("stays where the nodes cannot be listed", () => {
    const listed = { kind: "unknown", message: "forbidden" } as const;
    expect(decide(observed, { ...contextOf([A]), listed })).toMatchObject({
      because: { message: expect.stringContaining("the nodes cannot be listed: forbidden") },
    });
  });

  test("takes no list where no machine is known that it should lead to", () => {
    const unknown = state([table([taken])], [A], { a: { kind: "missing", message: "ended" } });
    expect(stateOf(subjectOf({ kind: "observed", state: unknown }), contextOf([A]))).toBeUndefined();
  });
});

test("a route that is there is neither counted nor listed for, and names no candidate", () => {
  const nodes = [A, routedNode("b", "100.64.1.0/24")];
  const said = state([table([ROUTE_TO_A, route("100.64.1.0/24", "b")])], nodes, { b: ready("b") });
  const subject = subjectOf({ kind: "observed", state: said });
  expect(stateOf(subject, contextOf(nodes))).toBeUndefined();
  expect(candidatesOf(subject, contextOf(nodes))).toEqual([]);
});
