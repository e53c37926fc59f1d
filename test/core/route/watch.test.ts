import { describe, expect, test } from "vitest";
import { routeController } from "#core/route/controller.ts";
import { foldRoutes } from "#core/route/fold.ts";
import { nodesIn, routeNodes } from "#core/route/related-node.ts";
import { routeWatch } from "#core/route/watch.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import {
  contextOf,
  KUBE_SYSTEM,
  rawNode,
  SETTINGS,
  state,
  subjectOf,
  table,
} from "#test/core/route/world.ts";

describe("the node-route-controller", () => {
  test("follows the namespace that stands for the cluster, which needs no work by itself", () => {
    expect(routeWatch).toMatchObject({
      resource: { name: "namespaces" },
      only: { name: "kube-system" },
      functionName: "route",
      aliases: ["route"],
      onByDefault: false,
    });
    const parsed = routeWatch.parse({ ...KUBE_SYSTEM, spec: { finalizers: ["kubernetes"] } });
    expect(parsed).toEqual({ kind: "object", object: KUBE_SYSTEM });
    const context = { labelPrefixes: [], settings: SETTINGS };
    expect(routeWatch.needsWork(KUBE_SYSTEM, context)).toBe(false);
    expect(routeWatch.snapshot(KUBE_SYSTEM, context)).toEqual(KUBE_SYSTEM);
    expect(routeWatch.parse({ metadata: { name: "kube-system" } }).kind).toBe("malformed");
    expect(routeWatch.related.map(({ reads }) => reads(KUBE_SYSTEM))).toEqual(["all"]);
  });

  test("audits as often as the cluster says", () => {
    const { everySeconds } = routeWatch.looks ?? {};
    expect(typeof everySeconds === "function" && everySeconds(SETTINGS)).toBe(600);
    expect(DEFAULT_SETTINGS.routes.reconciliationSeconds).toBe(10);
    expect(routeWatch.looks?.fingerprint(KUBE_SYSTEM)).toBe("");
  });

  test("asks for the networks and machines of all nodes, where routes are configured", () => {
    const nodes = [
      rawNode("b", "100.64.01.0/24"),
      rawNode("a", "10.9.0.0/24"),
      { ...rawNode("c"), spec: {} },
    ];
    expect(routeController.asks(KUBE_SYSTEM, contextOf(nodes))).toEqual({
      capability: "routes",
      ask: {
        clusterCIDRs: ["100.64.0.0/10", "fd00:10::/48"],
        nodes: [
          { name: "a", providerID: "fake:///a", cidrs: [] },
          { name: "b", providerID: "fake:///b", cidrs: ["100.64.1.0/24"] },
          { name: "c", cidrs: [] },
        ],
      },
    });
    expect(routeController.asks(KUBE_SYSTEM, contextOf(nodes, DEFAULT_SETTINGS))).toBeUndefined();
    expect(routeController.asks(KUBE_SYSTEM, contextOf(undefined))).toBeUndefined();
    const settings = { ...SETTINGS, routes: { ...SETTINGS.routes, clusterCIDRs: ["rubbish"] } };
    expect(routeController.asks(KUBE_SYSTEM, contextOf(nodes, settings))).toMatchObject({
      ask: { clusterCIDRs: [] },
    });
  });
});

describe("a node that is read with the cluster", () => {
  test("is cut down to what routes depend on, and no heartbeat changes it", () => {
    const conditions = (beat: string) => [
      { type: "NetworkUnavailable", status: "False", reason: "RouteCreated", lastHeartbeatTime: beat },
      { type: "Ready", lastHeartbeatTime: beat },
    ];
    const node = { ...rawNode("a", "100.64.0.0/24"), status: { conditions: conditions("1") } };
    expect(routeNodes.project(node)).toEqual({
      name: "a",
      uid: "uid-a",
      providerID: "fake:///a",
      podCIDRs: ["100.64.0.0/24"],
      condition: { at: 0, status: "False", reason: "RouteCreated" },
      lastCondition: "Ready",
    });
    expect(routeNodes.project({ ...node, status: { conditions: conditions("2") } })).toEqual(
      routeNodes.project(node),
    );
  });

  test.each([
    ["odd in all it can be", { spec: { podCIDRs: [7], providerID: {} }, status: { conditions: "no" } }],
    ["without spec and status", {}],
    ["of the wrong kinds", { spec: 7, status: [] }],
    ["with lists of null", { spec: { podCIDRs: null }, status: { conditions: null } }],
  ])("is there all the same where it is %s", (_, more) => {
    const { metadata } = rawNode("a");
    expect(routeNodes.project({ metadata, ...more })).toEqual({ name: "a", uid: "uid-a" });
  });

  test("names two networks at the most", () => {
    const podCIDRs = Array.from({ length: 9 }, (_, index) => `100.64.${index}.0/24`);
    expect(routeNodes.project(rawNode("a", undefined, { spec: { podCIDRs } }))).toMatchObject({
      podCIDRs: podCIDRs.slice(0, 2),
    });
  });

  test("is none without a name", () => {
    expect(routeNodes.project({ metadata: {} })).toBeUndefined();
    expect(
      nodesIn({
        nodes: {
          resourceVersion: "1",
          items: [{ name: "b", uid: "1" }, { odd: 1 }, { name: "a", uid: "2" }],
        },
      }),
    ).toEqual([
      { name: "a", uid: "2" },
      { name: "b", uid: "1" },
    ]);
  });
});

describe("what is known after a write", () => {
  const said = state([table([])], [rawNode("a")]);
  const action = (name: string, parameters: Record<string, unknown>) =>
    ({
      write: {
        on: "cloud",
        capability: "routes",
        action: name,
        target: "t",
        parameters,
        precondition: { uid: "u", deleting: false },
      },
      result: {},
    }) as const;

  test("of an action that is none of these is what was known", () => {
    expect(foldRoutes({ kind: "observed", state: said }, action("other", {})).state).toEqual(said);
  });

  test("of a machine that is not known any more says so", () => {
    const folded = foldRoutes(
      { kind: "observed", state: said },
      action("create", { table: "rtb-1", cidr: "rubbish", target: { instance: "x" } }),
    );
    expect(folded.state).toMatchObject({
      tables: [{ size: 3, routes: [{ cidr: "rubbish", target: { kind: "machine", id: "" } }] }],
    });
    const gone = foldRoutes(folded, action("delete", { table: "rtb-1", cidr: "rubbish" }));
    expect(gone.state).toMatchObject({ tables: [{ size: 2, routes: [] }] });
  });

  test("without an answer is nothing", () => {
    const subject = subjectOf(undefined);
    expect(routeController.fold?.(subject, action("delete", {}))).toBe(subject);
  });

  test("without tables is that it was done", () => {
    const folded = foldRoutes(
      { kind: "observed", state: { kind: "no-tables", message: "" } },
      action("delete", {}),
    );
    expect([...(folded.pass?.done ?? [])]).toEqual(["delete t"]);
  });
});
