import { describe, expect, test } from "vitest";
import { parseCidr } from "#core/cidr.ts";
import { renderEvent } from "#core/cluster-events.ts";
import type { Decision } from "#core/decision.ts";
import type { Reason } from "#core/reason.ts";
import { ASSUMED_PROOF, NO_PASS } from "#core/route/pass.ts";
import { planRoutes } from "#core/route/plan.ts";
import { collectDesiredRoutes } from "#core/route/related-node.ts";
import type { Route } from "#core/route/state.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import {
  buildConfirmedSubject,
  buildContext,
  buildProvenContext,
  buildRawNode,
  buildReadyMachine,
  buildRoute,
  buildRoutedNode,
  buildState,
  buildSubject,
  buildTable,
  carryOut,
  decide,
  decideOn,
  formatActions,
  type RawNode,
  ROUTED,
  SETTINGS,
  selectPatches,
} from "#test/core/route/world.ts";

const A = buildRoutedNode("a", "100.64.0.0/24");
const ROUTE_TO_A = buildRoute("100.64.0.0/24", "a");

/** The codes and nodes of the Events of a decision. */
function eventsOf(decision: Decision): readonly (readonly [string | undefined, string])[] {
  if (decision.kind !== "retry") return [];
  return decision.events.map(({ about, code }) => [about?.name, code]);
}

describe("a set of routes", () => {
  test("in its desired state stays unchanged", () => {
    const nodes = [A, buildRoutedNode("b", "100.64.1.0/24")];
    const tables = ["rtb-1", "rtb-2"].map((id) =>
      buildTable([ROUTE_TO_A, buildRoute("100.64.1.0/24", "b")], { id }),
    );
    expect(decideOn(buildState(tables, nodes), nodes)).toMatchObject({ kind: "unchanged" });
  });

  test("gets missing routes in each table, and then the conditions of nodes", () => {
    const nodes = [
      A,
      buildRawNode("b", "100.64.1.0/24", { spec: { podCIDRs: ["100.64.1.0/24", "fd00:10:0:1::/64"] } }),
    ];
    const tables = ["rtb-1", "rtb-2"].map((id) => buildTable([ROUTE_TO_A], { id }));
    const { keys, decision, nodes: after } = carryOut(buildState(tables, nodes), nodes);
    expect(keys).toEqual([
      "create rtb-1 100.64.1.0/24",
      "create rtb-2 100.64.1.0/24",
      "create rtb-1 fd00:10:0:1::/64",
      "create rtb-2 fd00:10:0:1::/64",
      "condition b",
    ]);
    expect(decision.kind).toBe("unchanged");
    expect(after[1]?.status.conditions?.at(-1)).toEqual({
      ...ROUTED,
      message: "RouteController created a route",
      lastHeartbeatTime: "2026-03-01T12:00:00Z",
      lastTransitionTime: "2026-03-01T12:00:00Z",
    });
  });

  test("of machines with source checks is created after these are disabled, once for each machine", () => {
    const nodes = [buildRawNode("b", "100.64.1.0/24")];
    const tables = ["rtb-1", "rtb-2"].map((id) => buildTable([], { id }));
    const target = { interface: "eni-1" };
    const { writes } = carryOut(
      buildState(tables, nodes, { b: buildReadyMachine("b", { forwards: false, target }) }),
      nodes,
    );
    expect(formatActions(writes)).toEqual([
      "forward b",
      "create rtb-1 100.64.1.0/24",
      "create rtb-2 100.64.1.0/24",
    ]);
    expect(writes[0]).toMatchObject({
      capability: "routes",
      action: "forward",
      parameters: { target },
      precondition: { uid: "uid-of-cluster", deleting: false },
    });
    expect(writes[1]).toMatchObject({ parameters: { table: "rtb-1", cidr: "100.64.1.0/24", target } });
  });

  test.each<[string, Route, string | undefined]>([
    [
      "leads to another machine of the cluster",
      buildRoute("100.64.1.0/24", "x"),
      "replace rtb-1 100.64.1.0/24",
    ],
    ["has no target", buildRoute("100.64.1.0/24", { kind: "gone" }), "replace rtb-1 100.64.1.0/24"],
    [
      "is a blackhole to the running machine",
      buildRoute("100.64.1.0/24", "b", { blackhole: true }),
      "replace rtb-1 100.64.1.0/24",
    ],
    ["has another spelling", buildRoute("100.64.1.7/24", "b", { text: "100.64.1.7/24" }), undefined],
  ])("replaces a route only if needed: one that %s", (_, existing, action) => {
    const nodes = [A, buildRoutedNode("b", "100.64.1.0/24")];
    const { keys, decision } = carryOut(buildState([buildTable([ROUTE_TO_A, existing])], nodes), nodes);
    expect(keys).toEqual(action === undefined ? [] : [action]);
    expect(decision.kind).toBe("unchanged");
  });

  test("uses the cloud's spelling of a route to replace or delete it", () => {
    const nodes = [A, buildRoutedNode("b", "100.64.1.0/24")];
    const spelled = (cidr: string) => buildRoute(cidr, { kind: "gone" }, { text: cidr });
    const { writes, subject } = carryOut(
      buildState([buildTable([ROUTE_TO_A, spelled("100.64.1.7/24"), spelled("100.64.2.7/24")])], nodes),
      nodes,
    );
    expect(writes).toMatchObject([
      { action: "delete", parameters: { cidr: "100.64.2.7/24" } },
      { action: "replace", parameters: { cidr: "100.64.1.7/24" } },
    ]);
    expect(subject.answer).toMatchObject({
      state: { tables: [{ size: 4, routes: [{ cidr: "100.64.0.0/24" }, { cidr: "100.64.1.0/24" }] }] },
    });
  });

  test("with a blackhole to a stopped machine waits for the machine", () => {
    const nodes = [A, buildRoutedNode("b", "100.64.1.0/24")];
    const existing = buildRoute("100.64.1.0/24", "b", { blackhole: true });
    const said = buildState([buildTable([ROUTE_TO_A, existing])], nodes, {
      b: buildReadyMachine("b", { running: false }),
    });
    expect(decideOn(said, nodes).kind).toBe("unchanged");
  });

  test("is written in batches if it is large, in which deletions and creations alternate", () => {
    const stale = Array.from({ length: 60 }, (_, index) => buildRoute(`100.65.${index}.0/24`, "old"));
    const nodes = [
      A,
      ...Array.from({ length: 60 }, (_, index) => buildRawNode(`n${index}`, `100.66.${index}.0/24`)),
    ];
    const said = buildState([buildTable([ROUTE_TO_A, ...stale])], nodes);
    const context = buildProvenContext(nodes);
    const first = decide(buildConfirmedSubject(said, context), context);
    const actions = first.kind === "change" ? formatActions(first.writes) : [];
    expect(
      Object.fromEntries(
        ["delete", "create"].map((name) => [name, actions.filter((each) => each.startsWith(name)).length]),
      ),
    ).toEqual({ delete: 16, create: 16 });
    const { keys, decision } = carryOut(said, nodes);
    expect([keys.length, decision.because.code]).toEqual([60 + 60 + 60, "RoutesDeleted"]);
  });
});

describe("a route without a node", () => {
  const nodes = [A];
  test.each<[string, Route, boolean]>([
    ["a machine of the cluster", buildRoute("100.64.9.0/24", "old"), true],
    ["nothing", buildRoute("100.64.9.0/24", { kind: "gone" }), true],
    ["a foreign target", buildRoute("100.64.9.0/24", { kind: "foreign" }), false],
    ["nothing, outside of the cluster's networks", buildRoute("10.9.0.0/24", { kind: "gone" }), false],
    ["nothing, in a network larger than the cluster's", buildRoute("100.0.0.0/8", { kind: "gone" }), false],
    ["nothing, with an invalid network", buildRoute("rubbish", { kind: "gone" }), false],
  ])("that leads to %s", (_, stale, isDeleted) => {
    const { keys, decision } = carryOut(buildState([buildTable([ROUTE_TO_A, stale])], nodes), nodes);
    expect(keys).toEqual(isDeleted ? [`delete rtb-1 ${stale.cidr}`] : []);
    // EC2 deletes by network alone: a node's possible loss is detected at once.
    expect(decision).toMatchObject(
      isDeleted
        ? { kind: "retry", because: { code: "RoutesDeleted" }, afterSeconds: 1, events: [] }
        : { kind: "unchanged" },
    );
  });

  test("stays without proof that the tables are the cluster's", () => {
    const said = buildState(
      [buildTable([buildRoute("100.64.9.0/24", "old"), buildRoute("100.64.8.0/24", "older")])],
      [],
    );
    expect(carryOut(said, [])).toMatchObject({
      keys: [],
      decision: { kind: "skip", because: { code: "DeletionUnproven", message: /^2 routes/ } },
    });
    // A node without a visible machine and without a route is no proof.
    const other = buildRawNode("b", undefined);
    expect(
      carryOut(
        buildState([buildTable([buildRoute("100.64.9.0/24", "old")])], [other], { b: { kind: "unnamed" } }),
        [other],
      ),
    ).toMatchObject({ keys: [], decision: { kind: "skip" } });
  });

  test("is deleted if another machine of the cluster is visible", () => {
    const joining = buildRawNode("b", "100.64.1.0/24");
    const { keys } = carryOut(buildState([buildTable([buildRoute("100.64.9.0/24", "old")])], [joining]), [
      joining,
    ]);
    expect(keys).toEqual(["delete rtb-1 100.64.9.0/24", "create rtb-1 100.64.1.0/24", "condition b"]);
  });

  test("stays if its target is unknown, and is checked again", () => {
    const unknown = buildRoute("100.64.9.0/24", {
      kind: "unknown",
      because: { code: "Throttled", message: "slow" },
    });
    expect(carryOut(buildState([buildTable([ROUTE_TO_A, unknown])], nodes), nodes)).toMatchObject({
      keys: [],
      decision: { kind: "retry", because: { code: "Throttled" }, afterSeconds: 3 },
    });
  });

  test("whose deletion failed is retried", () => {
    const said = buildState([buildTable([ROUTE_TO_A, buildRoute("100.64.9.0/24", "old")])], nodes);
    const denied: Reason = { code: "Denied", message: "you may not" };
    expect(carryOut(said, nodes, () => denied)).toMatchObject({
      keys: ["delete rtb-1 100.64.9.0/24"],
      decision: { kind: "retry", because: { code: "Denied" }, afterSeconds: 60, events: [] },
    });
  });
});

describe("a node", () => {
  const routes = [ROUTE_TO_A];

  test.each<[string, RawNode, Parameters<typeof buildState>[2], readonly Route[], string]>([
    [
      "whose network is outside of the cluster's networks",
      buildRawNode("b", "10.9.0.0/24"),
      {},
      [],
      "OutsideClusterCIDR",
    ],
    ["whose network is invalid", buildRawNode("b", "rubbish"), {}, [], "OutsideClusterCIDR"],
    ["whose network is 0.0.0.0/0", buildRawNode("b", "0.0.0.0/0"), {}, [], "OutsideClusterCIDR"],
    ["whose network is another node's", buildRawNode("b", "100.64.0.0/24"), {}, [], "CIDRTaken"],
    [
      "whose network already has a route to a gateway",
      buildRawNode("b", "100.64.1.0/24"),
      {},
      [buildRoute("100.64.1.0/24", { kind: "foreign" })],
      "RouteOccupied",
    ],
    [
      "whose machine does not belong to the cluster",
      buildRawNode("b", "100.64.1.0/24"),
      { b: { kind: "missing", message: "not ours" } },
      [],
      "InstanceNotFound",
    ],
    [
      "whose machine has ended, and whose route leads to another machine until the node is deleted,",
      buildRawNode("b", "100.64.1.0/24"),
      { b: { kind: "missing", message: "ended" } },
      [buildRoute("100.64.1.0/24", "x")],
      "InstanceNotFound",
    ],
  ])("%s gets no route and a Warning; other nodes get their routes", (_, node, machines, more, code) => {
    const joining = buildRawNode("c", "100.64.2.0/24");
    const nodes = [A, node, joining];
    const {
      keys,
      decision,
      nodes: after,
    } = carryOut(buildState([buildTable([...routes, ...more])], nodes, machines), nodes);
    expect(keys.toSorted()).toEqual(["condition b", "condition c", "create rtb-1 100.64.2.0/24"]);
    expect(eventsOf(decision)).toEqual([["b", code]]);
    expect(decision).toMatchObject({ kind: "retry", because: { code } });
    expect(after[1]?.status.conditions?.at(-1)).toMatchObject({
      type: "NetworkUnavailable",
      status: "True",
      reason: "NoRouteCreated",
      message: "RouteController failed to create a route",
    });
  });

  test("whose network overlaps the machines' network gets a Warning; other nodes get none", () => {
    const settings = { ...SETTINGS, routes: { ...SETTINGS.routes, clusterCIDRs: ["10.0.0.0/8"] } };
    const nodes = [buildRawNode("b", "10.0.4.0/24"), buildRoutedNode("c", "10.9.0.0/24")];
    const said = buildState([buildTable([buildRoute("10.9.0.0/24", "c")])], nodes);
    const context = buildContext(nodes, settings);
    const first = decide(buildSubject({ kind: "observed", state: said }), context);
    expect(first).toMatchObject({ kind: "change", writes: [{ name: "b" }] });
    const told = buildContext(
      [
        {
          ...nodes[0],
          status: { conditions: [{ type: "NetworkUnavailable", status: "True", reason: "NoRouteCreated" }] },
        } as RawNode,
        nodes[1] as RawNode,
      ],
      settings,
    );
    expect(eventsOf(decide(buildSubject({ kind: "observed", state: said }), told))).toEqual([
      ["b", "NetworkOverlaps"],
    ]);
  });

  test("with one of two networks outside of the cluster's keeps the route of the other one", () => {
    const node = buildRawNode("b", undefined, { spec: { podCIDRs: ["100.64.1.0/24", "fd99::/64"] } });
    const nodes = [A, node];
    const { keys, decision } = carryOut(buildState([buildTable(routes)], nodes), nodes);
    expect(keys).toEqual(["create rtb-1 100.64.1.0/24", "condition b"]);
    expect(eventsOf(decision)).toEqual([["b", "OutsideClusterCIDR"]]);
  });

  test("that claims another node's routed network does not get it, whatever the names", () => {
    const nodes = [buildRawNode("a", "100.64.1.0/24"), buildRoutedNode("b", "100.64.1.0/24")];
    const { keys } = carryOut(buildState([buildTable([buildRoute("100.64.1.0/24", "b")])], nodes), nodes);
    expect(keys).toEqual(["condition a"]);
  });

  test("gets its network if a node with an earlier name claims it and has no instance", () => {
    const nodes = [buildRawNode("a", "100.64.1.0/24"), buildRawNode("b", "100.64.1.0/24")];
    const missing = { a: { kind: "missing", message: "terminated" } } as const;
    const { keys } = carryOut(buildState([buildTable([])], nodes, missing), nodes);
    expect(keys).toContain("create rtb-1 100.64.1.0/24");
  });

  test.each<[string, RawNode, Parameters<typeof buildState>[2], readonly string[]]>([
    ["without a network and without routes stays unchanged", buildRawNode("b"), {}, []],
    [
      "without a network loses its route",
      buildRawNode("b"),
      {},
      ["delete rtb-1 100.64.9.0/24", "condition b"],
    ],
    [
      "that names no machine yet gets only its condition",
      buildRawNode("b", "100.64.1.0/24"),
      { b: { kind: "unnamed" } },
      ["condition b"],
    ],
  ])("%s", (_, node, machines, expected) => {
    const nodes = [A, node];
    const more = expected.length > 1 ? [buildRoute("100.64.9.0/24", "b")] : [];
    const { keys, decision } = carryOut(
      buildState([buildTable([...routes, ...more])], nodes, machines),
      nodes,
    );
    expect(keys).toEqual(expected);
    expect(eventsOf(decision)).toEqual([]);
  });

  test("that is being deleted keeps its routes, gets no new ones, and is not written", () => {
    const metadata = { name: "b", uid: "uid-b", deletionTimestamp: "2026-03-01T11:00:00Z" };
    const kept = buildRawNode("b", "100.64.1.0/24", { metadata });
    const nodes = [A, kept];
    expect(
      carryOut(buildState([buildTable([...routes, buildRoute("100.64.1.0/24", "b")])], nodes), nodes).keys,
    ).toEqual([]);
    expect(carryOut(buildState([buildTable(routes)], nodes), nodes)).toMatchObject({
      keys: [],
      decision: { kind: "unchanged" },
    });
  });

  test("with a new network loses the old route and gets the new one", () => {
    const nodes = [A, buildRoutedNode("b", "100.64.2.0/24")];
    const { keys } = carryOut(
      buildState([buildTable([...routes, buildRoute("100.64.1.0/24", "b")])], nodes),
      nodes,
    );
    expect(keys).toEqual(["delete rtb-1 100.64.1.0/24", "create rtb-1 100.64.2.0/24"]);
  });

  test("whose machine is unknown to the cloud keeps its condition, and is checked again", () => {
    const nodes = [A, buildRoutedNode("b", "100.64.1.0/24")];
    const because = { code: "Unavailable", message: "no answer" };
    const said = buildState([buildTable(routes)], nodes, { b: { kind: "unknown", id: "b", because } });
    expect(carryOut(said, nodes)).toMatchObject({
      keys: [],
      decision: { kind: "retry", because: { code: "Unavailable" }, afterSeconds: 2 },
    });
    const named = buildState([buildTable(routes)], nodes, { b: { kind: "named", id: "b" } });
    expect(carryOut(named, nodes)).toMatchObject({ keys: [], decision: { kind: "retry", afterSeconds: 1 } });
    const unknown = buildRoute("100.64.1.0/24", {
      kind: "unknown",
      because: { code: "Odd", message: "odd" },
    });
    expect(carryOut(buildState([buildTable([...routes, unknown])], nodes), nodes)).toMatchObject({
      keys: [],
      decision: { kind: "retry", because: { code: "Odd" }, afterSeconds: 60 },
    });
  });

  test("gets condition patches that apply only if its conditions are unchanged", () => {
    const condition = {
      type: "NetworkUnavailable",
      status: "True",
      reason: "CiliumIsUp",
      message: "m",
      more: 1,
    };
    const first = buildRawNode("b", "100.64.1.0/24", {
      status: { conditions: [condition, { type: "Ready" }] },
    });
    const bare = { ...buildRawNode("c", "100.64.2.0/24"), status: {} };
    const empty = { ...buildRawNode("e", "100.64.4.0/24"), status: { conditions: [] } };
    const plain = buildRawNode("d", "100.64.3.0/24");
    const nodes = [A, first, bare, plain, empty];
    const { writes, nodes: after } = carryOut(buildState([buildTable(routes)], nodes), nodes);
    expect(
      selectPatches(writes).map(({ name, subresource, precondition }) => [
        name,
        subresource,
        ...precondition.map(({ path, value }) => `${path} ${value}`),
      ]),
    ).toEqual([
      [
        "b",
        "status",
        "/metadata/uid uid-b",
        "/status/conditions/0/type NetworkUnavailable",
        "/status/conditions/0/status True",
      ],
      ["c", "status", "/metadata/uid uid-c", "/status/conditions null"],
      ["d", "status", "/metadata/uid uid-d", "/status/conditions/-1/type Ready"],
      ["e", "status", "/metadata/uid uid-e", "/status/conditions "],
    ]);
    expect(after[1]?.status.conditions).toMatchObject([{ ...ROUTED, more: 1 }, { type: "Ready" }]);
    expect(after[2]?.status.conditions).toMatchObject([ROUTED]);
  });

  test("whose condition has no status gets one", () => {
    const odd = buildRawNode("b", "100.64.1.0/24", {
      status: { conditions: [{ type: "NetworkUnavailable" }] },
    });
    const { writes } = carryOut(buildState([buildTable(routes)], [A, odd]), [A, odd]);
    expect(selectPatches(writes)[0]?.precondition.at(-1)).toMatchObject({
      path: "/status/conditions/0/status",
      value: null,
    });
  });
});

test("with invalid fields gets nothing for them", () => {
  const networks = parseCidr("100.64.0.0/10");
  const wanted = collectDesiredRoutes(
    [{ name: "b", uid: "2", podCIDRs: ["100.64.1.0/24"] }],
    networks ? [networks] : [],
  );
  const odd = { kind: "tables", tables: [buildTable([], { networks: ["rubbish"] })], machines: {} } as const;
  const nodes = [
    { name: "a", uid: "1" },
    { name: "b", uid: "2", podCIDRs: ["100.64.1.0/24"] },
  ];
  const rules = { waited: new Map(), isSweep: false, stop: undefined };
  const plan = planRoutes(nodes, {
    state: { ...odd, tables: [...odd.tables] },
    desired: wanted,
    ...{ networks: [], pass: NO_PASS, rules, proof: ASSUMED_PROOF },
  });
  expect([plan.steps, plan.standings.get("a")?.kind, plan.standings.get("b")]).toMatchObject([
    [],
    "none",
    { kind: "issue", issue: { code: "NotInitialized" } },
  ]);
  expect(
    planRoutes([{ name: "x", uid: "3" }], {
      state: { ...odd, tables: [] },
      desired: wanted,
      ...{ networks: [], pass: NO_PASS, rules, proof: ASSUMED_PROOF },
    }).standings.get("x"),
  ).toEqual({ kind: "none" });
});

describe("a failure", () => {
  const nodes = [A, buildRawNode("b", "100.64.1.0/24"), buildRawNode("c", "100.64.2.0/24")];
  const said = buildState([buildTable([ROUTE_TO_A])], nodes);
  const failing =
    (code: string, message = code) =>
    (write: { readonly on: string; readonly target?: unknown }) =>
      write.on === "cloud" && String(write.target).endsWith("100.64.1.0/24") ? { code, message } : undefined;

  test.each([
    ["Throttled", 3, [], true],
    ["Unavailable", 2, [], true],
    ["Conflict", 1, [], true],
    ["Aborted", 0.5, [], false],
    ["DeadlineReached", 0, [], false],
    ["Denied", 60, [["b", "CloudRefused"]], true],
    ["Invalid", 60, [["b", "CloudRefused"]], true],
  ] as const)(
    "such as %s is retried after %s s; other work continues",
    (code, afterSeconds, events, isTold) => {
      const { keys, decision } = carryOut(said, nodes, failing(code));
      expect(keys.toSorted()).toEqual(
        [
          ...(isTold ? ["condition b"] : []),
          "condition c",
          "create rtb-1 100.64.1.0/24",
          "create rtb-1 100.64.2.0/24",
        ].toSorted(),
      );
      expect(decision).toMatchObject({ kind: "retry", because: { code }, afterSeconds });
      expect(eventsOf(decision)).toEqual(events);
    },
  );

  test("to disable a machine's source check delays only its own routes", () => {
    const machines = { b: buildReadyMachine("b", { forwards: false }) };
    const { keys } = carryOut(buildState([buildTable([ROUTE_TO_A])], nodes, machines), nodes, (write) =>
      write.on === "cloud" && write.action === "forward" ? { code: "Denied", message: "no" } : undefined,
    );
    expect(keys.toSorted()).toEqual([
      "condition b",
      "condition c",
      "create rtb-1 100.64.2.0/24",
      "forward b",
    ]);
  });

  test("to write conditions is retried", () => {
    const { keys, decision } = carryOut(said, nodes, ({ on }) =>
      on === "cluster" ? { code: "Conflict", message: "changed" } : undefined,
    );
    expect(keys.filter((key) => key.startsWith("condition"))).toEqual(["condition b", "condition c"]);
    expect(decision).toMatchObject({ kind: "retry", because: { code: "Conflict" }, afterSeconds: 1 });
  });

  test("because a table is full is reported once, with the numbers; the other table gets its routes", () => {
    const many = [
      A,
      ...Array.from({ length: 50 }, (_, index) => buildRawNode(`n${index}`, `100.66.${index}.0/24`)),
    ];
    const tables = [buildTable([ROUTE_TO_A]), buildTable([ROUTE_TO_A], { id: "rtb-2" })];
    const { keys, decision } = carryOut(buildState(tables, many), many, (write) =>
      write.on === "cloud" && write.target.startsWith("rtb-1")
        ? { code: "Invalid", message: "ec2:CreateRoute: RouteLimitExceeded: no more" }
        : undefined,
    );
    expect(keys.filter((key) => key.startsWith("create rtb-2"))).toHaveLength(50);
    expect(keys.filter((key) => key.startsWith("create rtb-1")).length).toBeLessThanOrEqual(16);
    expect(eventsOf(decision)).toEqual([["n0", "RouteLimitExceeded"]]);
    expect(decision).toMatchObject({
      because: {
        code: "RouteLimitExceeded",
        message: "50 × route table rtb-1 has 3 routes and takes no more (RouteLimitExceeded)",
      },
      afterSeconds: 300,
    });
    const [event] = decision.kind === "retry" ? decision.events : [];
    expect(event && renderEvent(event).message).toMatch(
      /^Could not create a route to 100\.66\.0\.0\/24 for node n0: .* It has them of 1 nodes of this cluster/,
    );
  });

  test("because a table is full is retried soon after a deletion", () => {
    const full = buildState([buildTable([ROUTE_TO_A, buildRoute("100.64.9.0/24", "old")])], nodes);
    const { decision } = carryOut(full, nodes, (write) =>
      write.on === "cloud" && write.action === "create"
        ? { code: "Invalid", message: "RouteLimitExceeded" }
        : undefined,
    );
    expect(decision).toMatchObject({ kind: "retry", because: { code: "Conflict" }, afterSeconds: 1 });
  });

  test("of several kinds is summarized by the one that an operator must fix", () => {
    const odd = [...nodes, buildRawNode("d", "10.9.0.0/24")];
    const { decision } = carryOut(
      buildState([buildTable([ROUTE_TO_A])], odd),
      odd,
      failing("Throttled", "slow"),
    );
    expect(decision).toMatchObject({
      because: { code: "OutsideClusterCIDR", message: expect.stringMatching(/^1 × .*; 1 others$/) },
      afterSeconds: 3,
    });
  });

  test("of many nodes is reported on twenty", () => {
    const many = Array.from({ length: 30 }, (_, index) => buildRawNode(`n${index}`, "10.9.0.0/24"));
    expect(eventsOf(carryOut(buildState([buildTable([])], many), many).decision)).toHaveLength(20);
  });
});

describe("routes stay unchanged", () => {
  const nodes = [A, buildRawNode("b", "100.64.1.0/24")];

  test.each<[string, unknown, Decision["kind"], string, number | undefined]>([
    ["without the cloud's answer", undefined, "retry", "Unavailable", 2],
    [
      "if the cloud throttles",
      { kind: "error", code: "Throttled", message: "slow" },
      "retry",
      "Throttled",
      3,
    ],
    ["if the cloud denies access", { kind: "error", code: "Denied", message: "no" }, "retry", "Denied", 60],
    ["if the cloud's answer is invalid", { kind: "observed", state: { kind: "x" } }, "retry", "Invalid", 60],
  ])("%s", (_, answer, kind, code, afterSeconds) => {
    expect(decide(buildSubject(answer), buildContext(nodes))).toMatchObject({
      kind,
      because: { code },
      afterSeconds,
    });
  });

  test("without route tables, and waiting nodes get a Warning", () => {
    const decision = decide(
      buildSubject({ kind: "observed", state: { kind: "no-tables", message: "no table is tagged" } }),
      buildContext([...nodes, buildRawNode("c")]),
    );
    expect(decision).toMatchObject({
      kind: "retry",
      because: { code: "RouteTableMissing", message: "no table is tagged" },
    });
    expect(eventsOf(decision)).toEqual([["b", "RouteTableMissing"]]);
  });

  test("without a list of nodes", () => {
    const said = {
      kind: "observed",
      state: buildState([buildTable([buildRoute("100.64.9.0/24", "x")])], []),
    };
    expect(decide(buildSubject(said), buildContext(undefined))).toMatchObject({
      kind: "retry",
      because: { code: "NodesUnknown" },
    });
  });

  test("if no routes are configured", () => {
    expect(decide(buildSubject(undefined), buildContext(nodes, DEFAULT_SETTINGS))).toMatchObject({
      kind: "skip",
      because: { code: "NotConfigured" },
    });
  });
});
