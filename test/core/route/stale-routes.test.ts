import { describe, expect, test } from "vitest";
import type { DecisionContext } from "#core/controller.ts";
import { MAX_CANDIDATES } from "#core/event.ts";
import { routeController } from "#core/route/controller.ts";
import type { RouteState, Target } from "#core/route/state.ts";
import {
  buildConfirmedSubject,
  buildContext,
  buildHint,
  buildProvenContext,
  buildRawNode,
  buildReadyMachine,
  buildRoute,
  buildRoutedNode,
  buildState,
  buildSubject,
  buildTable,
  decide,
  formatActions,
  type RawNode,
  type RouteSubject,
} from "#test/core/route/world.ts";

const A = buildRoutedNode("a", "100.64.0.0/24");
const ROUTE_TO_A = buildRoute("100.64.0.0/24", "a");
const GONE: Target = { kind: "gone" };
const STALE = "100.64.9.0/24";

/** A cluster with one routed node and one additional route. */
const withStale = (target: string | Target): RouteState =>
  buildState([buildTable([ROUTE_TO_A, buildRoute(STALE, target, { leadsTo: "i-old" })])], [A]);

const candidatesOf = (subject: RouteSubject, context: DecisionContext) =>
  routeController.listCandidates?.(subject, context);
const stateOf = (subject: RouteSubject, context: DecisionContext) =>
  routeController.getStateReference?.([subject], context);
const deletionsOf = (subject: RouteSubject, context: DecisionContext): readonly string[] => {
  const decision = decide(subject, context);
  return decision.kind === "change" ? formatActions(decision.writes) : [];
};

describe("a stale route", () => {
  const context = buildProvenContext([A]);
  const answer = (said: RouteState) => ({ kind: "observed", state: said });

  test.each<[string, string | Target]>([
    ["leads to a live instance", "old"],
    ["leads to an ended instance", GONE],
  ])("that %s is named at the first check and deleted after 15 s", (_, target) => {
    const said = withStale(target);
    const first = buildSubject(answer(said));
    const ids = candidatesOf(first, context);
    expect(ids).toEqual([`rtb-1 ${STALE} i-old`]);
    expect(decide(first, context)).toMatchObject({
      kind: "retry",
      because: { code: "StaleRoutes" },
      afterSeconds: 15,
      events: [],
    });
    expect(decide(buildSubject(answer(said), buildHint(ids, 14.2)), context)).toMatchObject({
      kind: "retry",
      because: { code: "StaleRoutes" },
      afterSeconds: 1,
    });
    const second = decide(buildSubject(answer(said), buildHint(ids, 15)), context);
    expect(second).toMatchObject({
      kind: "change",
      writes: [{ action: "delete", parameters: { table: "rtb-1", cidr: STALE, leadsTo: "i-old" } }],
    });
  });

  test("with another target at the second check starts its wait again", () => {
    const ids = candidatesOf(buildSubject(answer(withStale("old"))), context);
    const moved = buildState([buildTable([ROUTE_TO_A, buildRoute(STALE, "old", { leadsTo: "i-new" })])], [A]);
    expect(decide(buildSubject(answer(moved), buildHint(ids, 60)), context)).toMatchObject({
      because: { code: "StaleRoutes" },
      afterSeconds: 15,
    });
    const nameless = buildState(
      [buildTable([ROUTE_TO_A, buildRoute(STALE, "old"), buildRoute("100.64.8.0/24", GONE)])],
      [A],
    );
    expect(candidatesOf(buildSubject(answer(nameless)), context)).toEqual([
      "rtb-1 100.64.8.0/24 gone",
      `rtb-1 ${STALE} old`,
    ]);
  });

  test.each<[string, DecisionContext["count"], RegExp]>([
    ["another number of nodes", { kind: "count", count: 2 }, /counts 2 nodes, and the event brings 1/],
    ["no number of nodes", { kind: "unknown", message: "forbidden" }, /cannot be counted: forbidden/],
    ["nothing at all", undefined, /lists other nodes/],
  ])("stays if the API server reports %s", (_, count, message) => {
    const decision = decide(buildConfirmedSubject(withStale(GONE), context), { ...context, count });
    expect(decision).toMatchObject({
      kind: "retry",
      because: { code: "NodesIncomplete", message: expect.stringMatching(message) },
      afterSeconds: 5,
    });
  });

  test.each([
    ["malformed items", [{}, "node", null]],
    ["one node several times", Array.from({ length: 3 }, () => buildRoutedNode("a", "100.64.0.0/24"))],
  ])("stays if an event pads its list with %s", (_, more) => {
    const items = [...(context.related["nodes"]?.items ?? []), ...more];
    const forged: DecisionContext = {
      ...context,
      related: { nodes: { resourceVersion: "1", items } },
      count: { kind: "count", count: items.length },
    };
    expect(decide(buildConfirmedSubject(withStale(GONE), forged), forged)).toMatchObject({
      kind: "retry",
      because: { code: "NodesIncomplete" },
    });
  });

  test.each<[string, DecisionContext["listed"], RegExp]>([
    ["cannot be listed", { kind: "unknown", message: "forbidden" }, /cannot be listed: forbidden/],
    [
      "have one that claims it",
      buildProvenContext([buildRoutedNode("b", STALE)]).listed,
      /lists other nodes than the event brings/,
    ],
  ])(
    "of a live instance stays if nodes %s, and that of a terminated one is deleted",
    (_, listed, message) => {
      const old = { ...context, listed };
      expect(decide(buildConfirmedSubject(withStale("old"), context), old)).toMatchObject({
        because: { code: "NodesIncomplete", message: expect.stringMatching(message) },
      });
      expect(deletionsOf(buildConfirmedSubject(withStale(GONE), context), old)).toEqual([
        `delete rtb-1 ${STALE}`,
      ]);
    },
  );

  test.each<[string, string | Target, object | undefined]>([
    ["for a live instance, nodes are counted and listed", "old", { counted: { name: "nodes" }, listed: {} }],
    ["for a terminated instance, nodes are counted", GONE, { counted: { name: "nodes" }, listed: undefined }],
  ])("requests %s before its deletion, and not earlier", (_, target, expected) => {
    expect(stateOf(buildSubject(answer(withStale(target))), context)).toBeUndefined();
    expect(stateOf(buildConfirmedSubject(withStale(target), context), context)).toMatchObject({
      name: "namespaces",
      at: { name: "kube-system" },
      ...expected,
    });
  });

  test("is deleted at a sweep's first check if its instance has terminated, and never if it lives", () => {
    const sweep = { ...context, reason: "sweep" } as const;
    expect(deletionsOf(buildSubject(answer(withStale(GONE))), sweep)).toEqual([`delete rtb-1 ${STALE}`]);
    expect(deletionsOf(buildSubject(answer(withStale("old"))), sweep)).toEqual([]);
  });

  test.each<["writes" | "deletes" | "unproven", string | Target, boolean]>([
    ["writes", GONE, true],
    ["deletes", GONE, true],
    ["deletes", "old", true],
    ["unproven", "old", true],
    ["unproven", GONE, false],
  ])("under the stop %s, with the target %o, is held: %s", (stop, target, isHeld) => {
    const stopped = { ...context, stop };
    const subject = buildConfirmedSubject(withStale(target), context);
    expect(stateOf(subject, stopped) === undefined).toBe(isHeld);
    expect(decide(subject, stopped)).toMatchObject(
      isHeld ? { kind: "skip", because: { code: "Stopped" } } : { kind: "change" },
    );
  });

  test("is no candidate without proof that the tables are the cluster's", () => {
    const alone = buildState([buildTable([buildRoute(STALE, "old")])], []);
    expect(candidatesOf(buildSubject(answer(alone)), buildContext([]))).toEqual([]);
    expect(candidatesOf(buildSubject(undefined), context)).toBeUndefined();
    expect(stateOf(buildSubject(undefined), context)).toBeUndefined();
    expect(candidatesOf(buildSubject(answer(withStale(GONE))), buildContext(undefined))).toBeUndefined();
    const none = { kind: "observed", state: { kind: "no-tables", message: "none" } };
    expect(candidatesOf(buildSubject(none), context)).toBeUndefined();
  });

  test("waits behind the routes that have waited longest", () => {
    const cidrs = Array.from({ length: MAX_CANDIDATES + 20 }, (_, index) => `100.65.${index}.0/24`);
    const said = buildState([buildTable([ROUTE_TO_A, ...cidrs.map((cidr) => buildRoute(cidr, GONE))])], [A]);
    const oldest = `rtb-1 ${cidrs.at(-1)} gone`;
    const named = candidatesOf(buildSubject(answer(said), buildHint([oldest], 3)), context);
    expect([named?.length, named?.[0]]).toEqual([MAX_CANDIDATES, oldest]);
  });
});

describe("a route that leads to another live instance of the cluster", () => {
  const taken = buildRoute("100.64.0.0/24", "x", { leadsTo: "i-x" });
  const said = buildState([buildTable([taken])], [A]);
  const observed = buildSubject({ kind: "observed", state: said });
  const successor = (difference: Partial<RawNode>): RawNode => ({ ...A, ...difference });

  test("is moved to a node after a list of nodes confirms it", () => {
    const context = buildProvenContext([A]);
    expect(stateOf(observed, context)).toMatchObject({ counted: undefined, listed: {} });
    expect(decide(observed, context)).toMatchObject({
      kind: "change",
      writes: [{ action: "replace", parameters: { cidr: "100.64.0.0/24", leadsTo: "i-x" } }],
    });
  });

  test.each<[string, readonly RawNode[]]>([
    ["is gone", []],
    ["is another one of that name", [successor({ metadata: { name: "a", uid: "uid-next" } })]],
    ["has another instance", [buildRawNode("a", "100.64.0.0/24", { spec: { providerID: "fake:///next" } })]],
    ["has another network", [buildRoutedNode("a", "100.64.7.0/24")]],
  ])("stays if in that list the node %s, and the node's condition stays unchanged", (_, nodes) => {
    const { listed } = buildProvenContext(nodes);
    expect(decide(observed, { ...buildContext([A]), listed })).toMatchObject({
      kind: "retry",
      because: { code: "NodesIncomplete" },
      events: [],
    });
  });

  test("stays if the nodes cannot be listed", () => {
    const listed = { kind: "unknown", message: "forbidden" } as const;
    expect(decide(observed, { ...buildContext([A]), listed })).toMatchObject({
      because: { message: expect.stringContaining("the nodes cannot be listed: forbidden") },
    });
  });

  test("needs no list if its new machine is unknown", () => {
    const unknown = buildState([buildTable([taken])], [A], { a: { kind: "missing", message: "ended" } });
    expect(stateOf(buildSubject({ kind: "observed", state: unknown }), buildContext([A]))).toBeUndefined();
  });
});

test("a desired route causes no count, no list and no candidate", () => {
  const nodes = [A, buildRoutedNode("b", "100.64.1.0/24")];
  const said = buildState([buildTable([ROUTE_TO_A, buildRoute("100.64.1.0/24", "b")])], nodes, {
    b: buildReadyMachine("b"),
  });
  const subject = buildSubject({ kind: "observed", state: said });
  expect(stateOf(subject, buildContext(nodes))).toBeUndefined();
  expect(candidatesOf(subject, buildContext(nodes))).toEqual([]);
});
