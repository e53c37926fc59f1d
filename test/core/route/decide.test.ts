import { describe, expect, test } from "vitest";
import { parseCidr } from "#core/cidr.ts";
import { inWords } from "#core/cluster-events.ts";
import type { Because, Decision } from "#core/decision.ts";
import { NO_PASS } from "#core/route/pass.ts";
import { planRoutes } from "#core/route/plan.ts";
import { ASSUMED } from "#core/route/proof.ts";
import type { Route } from "#core/route/state.ts";
import { wantedRoutes } from "#core/route/wanted.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import {
  actionsOf,
  carryOut,
  confirmedSubject,
  contextOf,
  decide,
  decideOn,
  patchesOf,
  provenContextOf,
  type RawNode,
  ROUTED,
  rawNode,
  ready,
  route,
  routedNode,
  SETTINGS,
  state,
  subjectOf,
  table,
} from "#test/core/route/world.ts";

const A = routedNode("a", "100.64.0.0/24");
const ROUTE_TO_A = route("100.64.0.0/24", "a");

/** Codes and nodes of the Events of a decision. */
function eventsOf(decision: Decision): readonly (readonly [string | undefined, string])[] {
  if (decision.kind !== "retry") return [];
  return decision.events.map(({ about, code }) => [about?.name, code]);
}

describe("a set of routes", () => {
  test("that is as it should be is left alone", () => {
    const nodes = [A, routedNode("b", "100.64.1.0/24")];
    const tables = ["rtb-1", "rtb-2"].map((id) => table([ROUTE_TO_A, route("100.64.1.0/24", "b")], { id }));
    expect(decideOn(state(tables, nodes), nodes)).toMatchObject({ kind: "unchanged" });
  });

  test("gets what is missing in each table, and then nodes are told so", () => {
    const nodes = [
      A,
      rawNode("b", "100.64.1.0/24", { spec: { podCIDRs: ["100.64.1.0/24", "fd00:10:0:1::/64"] } }),
    ];
    const tables = ["rtb-1", "rtb-2"].map((id) => table([ROUTE_TO_A], { id }));
    const { keys, decision, nodes: after } = carryOut(state(tables, nodes), nodes);
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

  test("of machines that check addresses is made after they do so no more, each asked once", () => {
    const nodes = [rawNode("b", "100.64.1.0/24")];
    const tables = ["rtb-1", "rtb-2"].map((id) => table([], { id }));
    const target = { interface: "eni-1" };
    const { writes } = carryOut(state(tables, nodes, { b: ready("b", { forwards: false, target }) }), nodes);
    expect(actionsOf(writes)).toEqual([
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
    ["leads to another machine of the cluster", route("100.64.1.0/24", "x"), "replace rtb-1 100.64.1.0/24"],
    ["leads nowhere", route("100.64.1.0/24", { kind: "gone" }), "replace rtb-1 100.64.1.0/24"],
    [
      "leads to the machine, and yet nowhere",
      route("100.64.1.0/24", "b", { blackhole: true }),
      "replace rtb-1 100.64.1.0/24",
    ],
    ["is spelled otherwise", route("100.64.1.7/24", "b", { text: "100.64.1.7/24" }), undefined],
  ])("with one that %s", (_, existing, action) => {
    const nodes = [A, routedNode("b", "100.64.1.0/24")];
    const { keys, decision } = carryOut(state([table([ROUTE_TO_A, existing])], nodes), nodes);
    expect(keys).toEqual(action === undefined ? [] : [action]);
    expect(decision.kind).toBe("unchanged");
  });

  test("names a route as the cloud spells it when it is replaced or deleted", () => {
    const nodes = [A, routedNode("b", "100.64.1.0/24")];
    const spelled = (cidr: string) => route(cidr, { kind: "gone" }, { text: cidr });
    const { writes, subject } = carryOut(
      state([table([ROUTE_TO_A, spelled("100.64.1.7/24"), spelled("100.64.2.7/24")])], nodes),
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

  test("with a blackhole whose machine is stopped waits for the machine", () => {
    const nodes = [A, routedNode("b", "100.64.1.0/24")];
    const existing = route("100.64.1.0/24", "b", { blackhole: true });
    const said = state([table([ROUTE_TO_A, existing])], nodes, { b: ready("b", { running: false }) });
    expect(decideOn(said, nodes).kind).toBe("unchanged");
  });

  test("is done in parts where it is large, and deletions and what nodes need take turns", () => {
    const stale = Array.from({ length: 60 }, (_, index) => route(`100.65.${index}.0/24`, "old"));
    const nodes = [
      A,
      ...Array.from({ length: 60 }, (_, index) => rawNode(`n${index}`, `100.66.${index}.0/24`)),
    ];
    const said = state([table([ROUTE_TO_A, ...stale])], nodes);
    const context = provenContextOf(nodes);
    const first = decide(confirmedSubject(said, context), context);
    const actions = first.kind === "change" ? actionsOf(first.writes) : [];
    expect(
      Object.fromEntries(
        ["delete", "create"].map((name) => [name, actions.filter((each) => each.startsWith(name)).length]),
      ),
    ).toEqual({ delete: 16, create: 16 });
    const { keys, decision } = carryOut(said, nodes);
    expect([keys.length, decision.because.code]).toEqual([60 + 60 + 60, "RoutesDeleted"]);
  });
});

describe("what no node is to have", () => {
  const nodes = [A];
  test.each<[string, Route, boolean]>([
    ["a machine of the cluster", route("100.64.9.0/24", "old"), true],
    ["nothing", route("100.64.9.0/24", { kind: "gone" }), true],
    ["a gateway, or another's machine", route("100.64.9.0/24", { kind: "foreign" }), false],
    ["nothing, beyond the cluster's networks", route("10.9.0.0/24", { kind: "gone" }), false],
    ["nothing, in a network larger than the cluster's", route("100.0.0.0/8", { kind: "gone" }), false],
    ["nothing, in no network at all", route("rubbish", { kind: "gone" }), false],
  ])("and leads to %s", (_, stale, isDeleted) => {
    const { keys, decision } = carryOut(state([table([ROUTE_TO_A, stale])], nodes), nodes);
    expect(keys).toEqual(isDeleted ? [`delete rtb-1 ${stale.cidr}`] : []);
    // EC2 deletes by network alone: what a node may have lost is seen at once.
    expect(decision).toMatchObject(
      isDeleted
        ? { kind: "retry", because: { code: "RoutesDeleted" }, afterSeconds: 1, events: [] }
        : { kind: "unchanged" },
    );
  });

  test("stays where nothing shows that we look in the right place", () => {
    const said = state([table([route("100.64.9.0/24", "old"), route("100.64.8.0/24", "older")])], []);
    expect(carryOut(said, [])).toMatchObject({
      keys: [],
      decision: { kind: "skip", because: { code: "DeletionUnproven", message: /^2 routes/ } },
    });
    // A node without a machine that is seen, and without a route, is no proof.
    const other = rawNode("b", undefined);
    expect(
      carryOut(state([table([route("100.64.9.0/24", "old")])], [other], { b: { kind: "unnamed" } }), [other]),
    ).toMatchObject({ keys: [], decision: { kind: "skip" } });
  });

  test("goes where another machine of the cluster is seen", () => {
    const joining = rawNode("b", "100.64.1.0/24");
    const { keys } = carryOut(state([table([route("100.64.9.0/24", "old")])], [joining]), [joining]);
    expect(keys).toEqual(["delete rtb-1 100.64.9.0/24", "create rtb-1 100.64.1.0/24", "condition b"]);
  });

  test("stays where it is not known what it leads to, and is looked at again", () => {
    const unknown = route("100.64.9.0/24", {
      kind: "unknown",
      because: { code: "Throttled", message: "slow" },
    });
    expect(carryOut(state([table([ROUTE_TO_A, unknown])], nodes), nodes)).toMatchObject({
      keys: [],
      decision: { kind: "retry", because: { code: "Throttled" }, afterSeconds: 3 },
    });
  });

  test("that could not be deleted is tried again", () => {
    const said = state([table([ROUTE_TO_A, route("100.64.9.0/24", "old")])], nodes);
    const denied: Because = { code: "Denied", message: "you may not" };
    expect(carryOut(said, nodes, () => denied)).toMatchObject({
      keys: ["delete rtb-1 100.64.9.0/24"],
      decision: { kind: "retry", because: { code: "Denied" }, afterSeconds: 60, events: [] },
    });
  });
});

describe("a node", () => {
  const routes = [ROUTE_TO_A];

  test.each<[string, RawNode, Parameters<typeof state>[2], readonly Route[], string]>([
    ["whose network is not the cluster's", rawNode("b", "10.9.0.0/24"), {}, [], "OutsideClusterCIDR"],
    ["whose network is none", rawNode("b", "rubbish"), {}, [], "OutsideClusterCIDR"],
    ["whose network is all of the internet", rawNode("b", "0.0.0.0/0"), {}, [], "OutsideClusterCIDR"],
    ["whose network is another's", rawNode("b", "100.64.0.0/24"), {}, [], "CIDRTaken"],
    [
      "whose network is a gateway's already",
      rawNode("b", "100.64.1.0/24"),
      {},
      [route("100.64.1.0/24", { kind: "foreign" })],
      "RouteOccupied",
    ],
    [
      "whose machine is not the cluster's",
      rawNode("b", "100.64.1.0/24"),
      { b: { kind: "missing", message: "not ours" } },
      [],
      "InstanceNotFound",
    ],
    [
      "whose machine has ended, and whose route leads to another machine until the node is deleted,",
      rawNode("b", "100.64.1.0/24"),
      { b: { kind: "missing", message: "ended" } },
      [route("100.64.1.0/24", "x")],
      "InstanceNotFound",
    ],
  ])("%s gets no route, and is told; others do", (_, node, machines, more, code) => {
    const joining = rawNode("c", "100.64.2.0/24");
    const nodes = [A, node, joining];
    const {
      keys,
      decision,
      nodes: after,
    } = carryOut(state([table([...routes, ...more])], nodes, machines), nodes);
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

  test("whose network overlaps the machines' own is told; others are not", () => {
    const settings = { ...SETTINGS, routes: { ...SETTINGS.routes, clusterCIDRs: ["10.0.0.0/8"] } };
    const nodes = [rawNode("b", "10.0.4.0/24"), routedNode("c", "10.9.0.0/24")];
    const said = state([table([route("10.9.0.0/24", "c")])], nodes);
    const context = contextOf(nodes, settings);
    const first = decide(subjectOf({ kind: "observed", state: said }), context);
    expect(first).toMatchObject({ kind: "change", writes: [{ name: "b" }] });
    const told = contextOf(
      [
        {
          ...nodes[0],
          status: { conditions: [{ type: "NetworkUnavailable", status: "True", reason: "NoRouteCreated" }] },
        } as RawNode,
        nodes[1] as RawNode,
      ],
      settings,
    );
    expect(eventsOf(decide(subjectOf({ kind: "observed", state: said }), told))).toEqual([
      ["b", "NetworkOverlaps"],
    ]);
  });

  test("that has a network half within the cluster's keeps the route of that half", () => {
    const node = rawNode("b", undefined, { spec: { podCIDRs: ["100.64.1.0/24", "fd99::/64"] } });
    const nodes = [A, node];
    const { keys, decision } = carryOut(state([table(routes)], nodes), nodes);
    expect(keys).toEqual(["create rtb-1 100.64.1.0/24", "condition b"]);
    expect(eventsOf(decision)).toEqual([["b", "OutsideClusterCIDR"]]);
  });

  test("that says the network of one that has a route does not get it, whatever the names", () => {
    const nodes = [rawNode("a", "100.64.1.0/24"), routedNode("b", "100.64.1.0/24")];
    const { keys } = carryOut(state([table([route("100.64.1.0/24", "b")])], nodes), nodes);
    expect(keys).toEqual(["condition a"]);
  });

  test.each<[string, RawNode, Parameters<typeof state>[2], readonly string[]]>([
    ["without a network and without routes", rawNode("b"), {}, []],
    [
      "without a network to which a route leads",
      rawNode("b"),
      {},
      ["delete rtb-1 100.64.9.0/24", "condition b"],
    ],
    ["that names no machine yet", rawNode("b", "100.64.1.0/24"), { b: { kind: "unnamed" } }, ["condition b"]],
  ])("%s", (_, node, machines, expected) => {
    const nodes = [A, node];
    const more = expected.length > 1 ? [route("100.64.9.0/24", "b")] : [];
    const { keys, decision } = carryOut(state([table([...routes, ...more])], nodes, machines), nodes);
    expect(keys).toEqual(expected);
    expect(eventsOf(decision)).toEqual([]);
  });

  test("that is being deleted keeps its routes, and gets no others; nothing is written on it", () => {
    const metadata = { name: "b", uid: "uid-b", deletionTimestamp: "2026-03-01T11:00:00Z" };
    const kept = rawNode("b", "100.64.1.0/24", { metadata });
    const nodes = [A, kept];
    expect(carryOut(state([table([...routes, route("100.64.1.0/24", "b")])], nodes), nodes).keys).toEqual([]);
    expect(carryOut(state([table(routes)], nodes), nodes)).toMatchObject({
      keys: [],
      decision: { kind: "unchanged" },
    });
  });

  test("whose network has changed loses the old route and gets the new one", () => {
    const nodes = [A, routedNode("b", "100.64.2.0/24")];
    const { keys } = carryOut(state([table([...routes, route("100.64.1.0/24", "b")])], nodes), nodes);
    expect(keys).toEqual(["delete rtb-1 100.64.1.0/24", "create rtb-1 100.64.2.0/24"]);
  });

  test("of which the cloud does not say what its machine is keeps its condition, and is looked at again", () => {
    const nodes = [A, routedNode("b", "100.64.1.0/24")];
    const because = { code: "Unavailable", message: "no answer" };
    const said = state([table(routes)], nodes, { b: { kind: "unknown", id: "b", because } });
    expect(carryOut(said, nodes)).toMatchObject({
      keys: [],
      decision: { kind: "retry", because: { code: "Unavailable" }, afterSeconds: 2 },
    });
    const named = state([table(routes)], nodes, { b: { kind: "named", id: "b" } });
    expect(carryOut(named, nodes)).toMatchObject({ keys: [], decision: { kind: "retry", afterSeconds: 1 } });
    const unknown = route("100.64.1.0/24", { kind: "unknown", because: { code: "Odd", message: "odd" } });
    expect(carryOut(state([table([...routes, unknown])], nodes), nodes)).toMatchObject({
      keys: [],
      decision: { kind: "retry", because: { code: "Odd" }, afterSeconds: 60 },
    });
  });

  test("is told by patches that hold only where its conditions are as they were seen", () => {
    const condition = {
      type: "NetworkUnavailable",
      status: "True",
      reason: "CiliumIsUp",
      message: "m",
      more: 1,
    };
    const first = rawNode("b", "100.64.1.0/24", { status: { conditions: [condition, { type: "Ready" }] } });
    const bare = { ...rawNode("c", "100.64.2.0/24"), status: {} };
    const empty = { ...rawNode("e", "100.64.4.0/24"), status: { conditions: [] } };
    const plain = rawNode("d", "100.64.3.0/24");
    const nodes = [A, first, bare, plain, empty];
    const { writes, nodes: after } = carryOut(state([table(routes)], nodes), nodes);
    expect(
      patchesOf(writes).map(({ name, subresource, precondition }) => [
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

  test("without a word on the status of its condition is told, too", () => {
    const odd = rawNode("b", "100.64.1.0/24", { status: { conditions: [{ type: "NetworkUnavailable" }] } });
    const { writes } = carryOut(state([table(routes)], [A, odd]), [A, odd]);
    expect(patchesOf(writes)[0]?.precondition.at(-1)).toMatchObject({
      path: "/status/conditions/0/status",
      value: null,
    });
  });
});

test("of what is odd nothing is made", () => {
  const networks = parseCidr("100.64.0.0/10");
  const wanted = wantedRoutes(
    [{ name: "b", uid: "2", podCIDRs: ["100.64.1.0/24"] }],
    networks ? [networks] : [],
  );
  const odd = { kind: "tables", tables: [table([], { networks: ["rubbish"] })], machines: {} } as const;
  const nodes = [
    { name: "a", uid: "1" },
    { name: "b", uid: "2", podCIDRs: ["100.64.1.0/24"] },
  ];
  const rules = { waited: new Map(), isSweep: false, stop: undefined };
  const plan = planRoutes(nodes, {
    state: { ...odd, tables: [...odd.tables] },
    wanted,
    ...{ networks: [], pass: NO_PASS, rules, proof: ASSUMED },
  });
  expect([plan.steps, plan.standings.get("a")?.kind, plan.standings.get("b")]).toMatchObject([
    [],
    "none",
    { kind: "problem", problem: { code: "NotInitialized" } },
  ]);
  expect(
    planRoutes([{ name: "x", uid: "3" }], {
      state: { ...odd, tables: [] },
      wanted,
      ...{ networks: [], pass: NO_PASS, rules, proof: ASSUMED },
    }).standings.get("x"),
  ).toEqual({ kind: "none" });
});

describe("what fails", () => {
  const nodes = [A, rawNode("b", "100.64.1.0/24"), rawNode("c", "100.64.2.0/24")];
  const said = state([table([ROUTE_TO_A])], nodes);
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
  ] as const)("as %s is tried again after %s s; others go on", (code, afterSeconds, events, isTold) => {
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
  });

  test("of a machine that is to forward keeps its routes back alone", () => {
    const machines = { b: ready("b", { forwards: false }) };
    const { keys } = carryOut(state([table([ROUTE_TO_A])], nodes, machines), nodes, (write) =>
      write.on === "cloud" && write.action === "forward" ? { code: "Denied", message: "no" } : undefined,
    );
    expect(keys.toSorted()).toEqual([
      "condition b",
      "condition c",
      "create rtb-1 100.64.2.0/24",
      "forward b",
    ]);
  });

  test("of conditions is tried again", () => {
    const { keys, decision } = carryOut(said, nodes, ({ on }) =>
      on === "cluster" ? { code: "Conflict", message: "changed" } : undefined,
    );
    expect(keys.filter((key) => key.startsWith("condition"))).toEqual(["condition b", "condition c"]);
    expect(decision).toMatchObject({ kind: "retry", because: { code: "Conflict" }, afterSeconds: 1 });
  });

  test("because a table is full is said once, with the numbers; the other table gets its routes", () => {
    const many = [
      A,
      ...Array.from({ length: 50 }, (_, index) => rawNode(`n${index}`, `100.66.${index}.0/24`)),
    ];
    const tables = [table([ROUTE_TO_A]), table([ROUTE_TO_A], { id: "rtb-2" })];
    const { keys, decision } = carryOut(state(tables, many), many, (write) =>
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
    expect(event && inWords(event).message).toMatch(
      /^Could not create a route to 100\.66\.0\.0\/24 for node n0: .* It has them of 1 nodes of this cluster/,
    );
  });

  test("because a table is full, and something was deleted, is tried again soon", () => {
    const full = state([table([ROUTE_TO_A, route("100.64.9.0/24", "old")])], nodes);
    const { decision } = carryOut(full, nodes, (write) =>
      write.on === "cloud" && write.action === "create"
        ? { code: "Invalid", message: "RouteLimitExceeded" }
        : undefined,
    );
    expect(decision).toMatchObject({ kind: "retry", because: { code: "Conflict" }, afterSeconds: 1 });
  });

  test("of several sorts is summed up by what somebody has to mend", () => {
    const odd = [...nodes, rawNode("d", "10.9.0.0/24")];
    const { decision } = carryOut(state([table([ROUTE_TO_A])], odd), odd, failing("Throttled", "slow"));
    expect(decision).toMatchObject({
      because: { code: "OutsideClusterCIDR", message: expect.stringMatching(/^1 × .*; 1 others$/) },
      afterSeconds: 3,
    });
  });

  test("of many nodes is told on twenty", () => {
    const many = Array.from({ length: 30 }, (_, index) => rawNode(`n${index}`, "10.9.0.0/24"));
    expect(eventsOf(carryOut(state([table([])], many), many).decision)).toHaveLength(20);
  });
});

describe("nothing is done", () => {
  const nodes = [A, rawNode("b", "100.64.1.0/24")];

  test.each<[string, unknown, Decision["kind"], string, number | undefined]>([
    ["where the cloud says nothing", undefined, "retry", "Unavailable", 2],
    ["where it throttles", { kind: "error", code: "Throttled", message: "slow" }, "retry", "Throttled", 3],
    ["where it denies", { kind: "error", code: "Denied", message: "no" }, "retry", "Denied", 60],
    ["where what it says cannot be read", { kind: "observed", state: { kind: "x" } }, "retry", "Invalid", 60],
  ])("%s", (_, answer, kind, code, afterSeconds) => {
    expect(decide(subjectOf(answer), contextOf(nodes))).toMatchObject({
      kind,
      because: { code },
      afterSeconds,
    });
  });

  test("without tables, and nodes that wait are told", () => {
    const decision = decide(
      subjectOf({ kind: "observed", state: { kind: "no-tables", message: "no table is tagged" } }),
      contextOf([...nodes, rawNode("c")]),
    );
    expect(decision).toMatchObject({
      kind: "retry",
      because: { code: "RouteTableMissing", message: "no table is tagged" },
    });
    expect(eventsOf(decision)).toEqual([["b", "RouteTableMissing"]]);
  });

  test("without a list of nodes", () => {
    const said = { kind: "observed", state: state([table([route("100.64.9.0/24", "x")])], []) };
    expect(decide(subjectOf(said), contextOf(undefined))).toMatchObject({
      kind: "retry",
      because: { code: "NodesUnknown" },
    });
  });

  test("where no routes are to be configured", () => {
    expect(decide(subjectOf(undefined), contextOf(nodes, DEFAULT_SETTINGS))).toMatchObject({
      kind: "skip",
      because: { code: "NotConfigured" },
    });
  });
});
