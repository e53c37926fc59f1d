import * as z from "zod";
import { canonicalizeCidr } from "#core/cidr.ts";
import { routeController } from "#core/route/controller.ts";
import type { Machine } from "#core/route/state.ts";
import { type ClusterWorld, createClusterWorld } from "#test/upstream/tables/cluster-world.ts";
import type { RecordedCases, RecordedTest } from "#test/upstream/tables/recorded-cases.ts";
import {
  createRouteTable,
  formatRoute,
  type RouteTableWorld,
  TableRoute,
} from "#test/upstream/tables/routes-capability.ts";
import { type ComparedCase, type ControllerTables, explainCases } from "#test/upstream/tables/rows.ts";
import { TableNode } from "#test/upstream/tables/table-node.ts";
import {
  answerExistence,
  createInstancesCloud,
  UpstreamCloud,
} from "#test/upstream/tables/upstream-cloud.ts";

// The route controller's own tables. Our routes lead to machines, so the addresses of upstream's targets are not
// compared. Each case has a minute, because a route without a node is deleted only after a second check.

const FILE = "controllers/route/route_controller_test.go";

const TESTS: readonly RecordedTest[] = [
  { file: FILE, test: "TestReconcile", loop: "testCase", values: { case: "testCase" } },
  { file: FILE, test: "TestIsResponsibleForRoute", loop: "testCase", values: { case: "testCase" } },
  { file: FILE, test: "TestHandleNodeUpdate", loop: "testCase", values: { case: "testCase", node: "node" } },
  { file: FILE, test: "TestUpdateNetworkingCondition", loop: "tc", values: { case: "tc" } },
  {
    file: FILE,
    test: "TestUpdateNetworkingConditionWithCalicoScenario",
    call: "updateNetworkingCondition",
    values: { node: "node" },
  },
];

/** The rows of differences.md that explain the cases whose result differs. */
const EXPLANATIONS: Readonly<Record<string, string>> = {
  // Upstream expects that its list of routes is never reached.
  ...explainCases("TestReconcile", "Pod network that a node lists twice", ["duplicate pod cidr"]),
  ...explainCases("TestHandleNodeUpdate", "Address of a node", ["internal IP updated"]),
};

const ReconcileCase = z.object({
  case: z.object({
    description: z.string(),
    nodes: z.array(TableNode),
    initialRoutes: z.array(TableRoute),
    expectedRoutes: z.array(TableRoute),
    expectedNetworkUnavailable: z.array(z.boolean()),
  }),
});

const ResponsibleCase = z.object({
  case: z.object({
    clusterCIDR: z.string(),
    routeCIDR: z.string(),
    expectedResponsible: z.boolean().prefault(false),
  }),
});

const NodeUpdateCase = z.object({
  case: z.object({
    description: z.string(),
    updatedNode: TableNode,
    expectedWorkqueueItem: z.string().prefault(""),
  }),
  node: TableNode,
});

const ConditionCase = z.object({
  case: z.object({
    description: z.string(),
    existingCondition: z.looseObject({}).nullish(),
    routesCreated: z.boolean().prefault(false),
    expectedUpdate: z.boolean().prefault(false),
    expectedConditionType: z.string().optional(),
    expectedReason: z.string().optional(),
    expectedMessage: z.string().optional(),
  }),
});

/** The tables of the route controller. */
export const routeTables: ControllerTables = {
  name: "route-tables",
  tests: TESTS,
  explanations: EXPLANATIONS,
  play: playCases,
};

async function playCases(recorded: RecordedCases): Promise<ComparedCase[]> {
  const played: ComparedCase[] = [];
  for (const values of recorded.casesOf("TestReconcile")) {
    const of = ReconcileCase.parse(values).case;
    const expected = {
      routes: of.expectedRoutes.map((route) => formatRoute(route.DestinationCIDR, route.TargetNode)).sort(),
      // Upstream's name is the opposite of what it compares: true for a node whose network is available.
      available: of.nodes.map((_, index) => of.expectedNetworkUnavailable[index]),
    };
    const observed = await reconcile(of.nodes, of.initialRoutes);
    played.push({ test: `TestReconcile/${of.description}`, expected, observed });
  }
  for (const values of recorded.casesOf("TestIsResponsibleForRoute")) {
    const { clusterCIDR, routeCIDR, expectedResponsible } = ResponsibleCase.parse(values).case;
    const observed = await isDeleted(routeCIDR, clusterCIDR);
    const test = `TestIsResponsibleForRoute/${routeCIDR} of ${clusterCIDR}`;
    played.push({ test, expected: expectedResponsible, observed });
  }
  for (const values of recorded.casesOf("TestHandleNodeUpdate")) {
    const { case: of, node } = NodeUpdateCase.parse(values);
    const expected = of.expectedWorkqueueItem !== "";
    const observed = await isSentAfterNodeUpdate(node, of.updatedNode);
    played.push({ test: `TestHandleNodeUpdate/${of.description}`, expected, observed });
  }
  for (const values of recorded.casesOf("TestUpdateNetworkingCondition")) {
    const { case: of } = ConditionCase.parse(values);
    const { existingCondition, routesCreated, expectedUpdate } = of;
    const expected = expectedUpdate
      ? { status: of.expectedConditionType, reason: of.expectedReason, message: of.expectedMessage }
      : "unchanged";
    const observed = await setCondition(existingCondition ?? undefined, routesCreated);
    played.push({ test: `TestUpdateNetworkingCondition/${of.description}`, expected, observed });
  }
  for (const values of recorded.casesOf("TestUpdateNetworkingConditionWithCalicoScenario")) {
    const Conditions = z.object({
      node: z.object({ status: z.object({ conditions: z.tuple([z.looseObject({})]) }) }),
    });
    const [condition] = Conditions.parse(values).node.status.conditions;
    const expected = { status: "False", reason: "RouteCreated", message: "RouteController created a route" };
    const observed = await setCondition(condition, true);
    played.push({ test: "TestUpdateNetworkingConditionWithCalicoScenario", expected, observed });
  }
  return played;
}

/** Longer than two checks of a route without a node. */
const REST_SECONDS = 60;

/** The networks that upstream's test gives its controller. */
const CLUSTER_CIDRS = ["10.120.0.0/16", "a00::/8"];

function createRouteWorld(
  table: RouteTableWorld,
  nodes: readonly TableNode[],
  clusterCIDRs: readonly string[],
): Promise<ClusterWorld> {
  return createClusterWorld({
    controller: routeController,
    cloud: createInstancesCloud((node) => answerExistence(UpstreamCloud.parse({}), node), {
      routes: table.capability,
    }),
    settings: { routes: { clusterCIDRs, reconciliationSeconds: 600 } },
    objects: nodes.map((node) => ["nodes", node]),
  });
}

async function reconcile(nodes: readonly TableNode[], initial: readonly TableRoute[]) {
  const table = createRouteTable(initial);
  const world = await createRouteWorld(table, nodes, CLUSTER_CIDRS);
  try {
    await world.advance(REST_SECONDS);
    const available = nodes.map(({ metadata }) => readCondition(world, metadata.name)?.status === "False");
    return { routes: table.list(), available };
  } finally {
    await world.close();
  }
}

/** Returns whether a route that leads to no node is deleted, in a cluster with these networks. */
async function isDeleted(cidr: string, clusterCIDR: string): Promise<boolean> {
  const route = TableRoute.parse({ DestinationCIDR: cidr, TargetNode: "node-x" });
  const table = createRouteTable([route]);
  const node: TableNode = { metadata: { name: "test-node" }, spec: { podCIDRs: ["10.244.200.0/24"] } };
  const world = await createRouteWorld(table, [node], [canonicalizeCidr(clusterCIDR) ?? clusterCIDR]);
  try {
    await world.advance(REST_SECONDS);
    return !table.list().includes(formatRoute(cidr, "node-x"));
  } finally {
    await world.close();
  }
}

async function isSentAfterNodeUpdate(before: TableNode, after: TableNode): Promise<boolean> {
  const world = await createRouteWorld(createRouteTable([]), [before], CLUSTER_CIDRS);
  try {
    await world.advance(REST_SECONDS);
    world.forget();
    const { conditions } = world.get("nodes", before.metadata.name)?.status ?? {};
    world.put("nodes", { ...after, status: { conditions, ...after.status } });
    await world.advance(10);
    return world.invocations() > 0;
  } finally {
    await world.close();
  }
}

/** Returns the condition of a node whose route can be created or not; `unchanged` without a write. */
async function setCondition(existing: object | undefined, isCreated: boolean) {
  const missing: Machine = { kind: "missing", message: "no machine" };
  const table = isCreated ? createRouteTable([]) : createRouteTable([], () => missing);
  const node: TableNode = {
    metadata: { name: "test-node" },
    spec: { podCIDRs: ["10.244.0.0/24"] },
    status: existing === undefined ? {} : { conditions: [existing] },
  };
  const world = await createRouteWorld(table, [node], ["10.244.0.0/16"]);
  try {
    await world.advance(REST_SECONDS);
    if (world.invocations() === 0) throw new Error("no event was sent");
    return world.writes("test-node") === 0 ? "unchanged" : readCondition(world, "test-node");
  } finally {
    await world.close();
  }
}

const Conditions = z.array(
  z.object({
    type: z.string(),
    status: z.string(),
    reason: z.string().optional(),
    message: z.string().optional(),
  }),
);

function readCondition(world: ClusterWorld, node: string) {
  const conditions = Conditions.parse(world.get("nodes", node)?.status?.["conditions"] ?? []);
  const { status, reason, message } = conditions.find(({ type }) => type === "NetworkUnavailable") ?? {};
  return status === undefined ? undefined : { status, reason, message };
}
