import { describe, expect, test } from "vitest";
import { applyResult, routeController } from "#core/route/controller.ts";
import { routeNodes, selectRouteNodes } from "#core/route/related-node.ts";
import { routeWatch } from "#core/route/watch.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import {
  buildContext,
  buildRawNode,
  buildState,
  buildSubject,
  buildTable,
  KUBE_SYSTEM,
  SETTINGS,
} from "#test/core/route/world.ts";

describe("the node-route-controller", () => {
  test("watches the namespace that represents the cluster, which needs no work itself", () => {
    expect(routeWatch).toMatchObject({
      resource: { name: "namespaces" },
      only: { name: "kube-system" },
      functionName: "route",
      enablement: { aliases: ["route"] },
    });
    expect(routeWatch.enablement?.onByDefault).toBeUndefined();
    const parsed = routeWatch.parse({ ...KUBE_SYSTEM, spec: { finalizers: ["kubernetes"] } });
    expect(parsed).toEqual({ kind: "object", object: KUBE_SYSTEM });
    const context = { labelPrefixes: [], settings: SETTINGS };
    expect(routeWatch.needsWork(KUBE_SYSTEM, context)).toBe(false);
    expect(routeWatch.snapshot(KUBE_SYSTEM, context)).toEqual(KUBE_SYSTEM);
    expect(routeWatch.parse({ metadata: { name: "kube-system" } }).kind).toBe("malformed");
    expect(routeWatch.related.map(({ reads }) => reads(KUBE_SYSTEM))).toEqual(["all"]);
  });

  test("audits at the cluster's configured interval", () => {
    const { everySeconds } = routeWatch.rechecks?.resync ?? {};
    expect(typeof everySeconds === "function" && everySeconds(SETTINGS)).toBe(600);
    expect(DEFAULT_SETTINGS.routes.reconciliationSeconds).toBe(10);
    expect(routeWatch.rechecks?.resync?.fingerprint(KUBE_SYSTEM)).toBe("");
  });

  test("asks for the networks and machines of all nodes if routes are configured", () => {
    const nodes = [
      buildRawNode("b", "100.64.01.0/24"),
      buildRawNode("a", "10.9.0.0/24"),
      { ...buildRawNode("c"), spec: {} },
    ];
    expect(routeController.buildQuestion(KUBE_SYSTEM, buildContext(nodes))).toEqual({
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
    expect(routeController.buildQuestion(KUBE_SYSTEM, buildContext(nodes, DEFAULT_SETTINGS))).toBeUndefined();
    expect(routeController.buildQuestion(KUBE_SYSTEM, buildContext(undefined))).toBeUndefined();
    const settings = { ...SETTINGS, routes: { ...SETTINGS.routes, clusterCIDRs: ["rubbish"] } };
    expect(routeController.buildQuestion(KUBE_SYSTEM, buildContext(nodes, settings))).toMatchObject({
      ask: { clusterCIDRs: [] },
    });
  });
});

describe("a related node of the cluster", () => {
  test("has only the fields that routes depend on, and no heartbeat changes it", () => {
    const conditions = (beat: string) => [
      { type: "NetworkUnavailable", status: "False", reason: "RouteCreated", lastHeartbeatTime: beat },
      { type: "Ready", lastHeartbeatTime: beat },
    ];
    const node = { ...buildRawNode("a", "100.64.0.0/24"), status: { conditions: conditions("1") } };
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
  ])("is kept if it is %s", (_, more) => {
    const { metadata } = buildRawNode("a");
    expect(routeNodes.project({ metadata, ...more })).toEqual({ name: "a", uid: "uid-a" });
  });

  test("names at most two networks", () => {
    const podCIDRs = Array.from({ length: 9 }, (_, index) => `100.64.${index}.0/24`);
    expect(routeNodes.project(buildRawNode("a", undefined, { spec: { podCIDRs } }))).toMatchObject({
      podCIDRs: podCIDRs.slice(0, 2),
    });
  });

  test("is dropped without a name", () => {
    expect(routeNodes.project({ metadata: {} })).toBeUndefined();
    expect(
      selectRouteNodes({
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

describe("the facts after a write", () => {
  const said = buildState([buildTable([])], [buildRawNode("a")]);
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

  test("are unchanged by an unknown action", () => {
    expect(applyResult({ kind: "observed", state: said }, action("other", {})).state).toEqual(said);
  });

  test("record a machine that is no longer known", () => {
    const folded = applyResult(
      { kind: "observed", state: said },
      action("create", { table: "rtb-1", cidr: "rubbish", target: { instance: "x" } }),
    );
    expect(folded.state).toMatchObject({
      tables: [{ size: 3, routes: [{ cidr: "rubbish", target: { kind: "machine", id: "" } }] }],
    });
    const gone = applyResult(folded, action("delete", { table: "rtb-1", cidr: "rubbish" }));
    expect(gone.state).toMatchObject({ tables: [{ size: 2, routes: [] }] });
  });

  test("are absent without an answer", () => {
    const subject = buildSubject(undefined);
    expect(routeController.applyResult?.(subject, action("delete", {}))).toBe(subject);
  });

  test("record the write if there are no tables", () => {
    const folded = applyResult(
      { kind: "observed", state: { kind: "no-tables", message: "" } },
      action("delete", {}),
    );
    expect([...(folded.pass?.done ?? [])]).toEqual(["delete t"]);
  });
});
