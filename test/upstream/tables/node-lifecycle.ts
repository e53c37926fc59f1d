import * as z from "zod";
import { nodeLifecycleController } from "#core/node-lifecycle/controller.ts";
import { createClusterWorld } from "#test/upstream/tables/cluster-world.ts";
import { initialize, withTaint } from "#test/upstream/tables/node.ts";
import type { RecordedCases, RecordedTest } from "#test/upstream/tables/recorded-cases.ts";
import type { ComparedCase, ControllerTables } from "#test/upstream/tables/rows.ts";
import { describeNode, TableNode } from "#test/upstream/tables/table-node.ts";
import {
  answerExistence,
  createInstancesCloud,
  UpstreamCloud,
} from "#test/upstream/tables/upstream-cloud.ts";

// The node lifecycle controller's own tables. Upstream judges a node once. We delete only after a second "not
// found" half a minute later, and at most a third of a cluster's nodes in a day: so each case has two minutes,
// and three more nodes, which are Ready. As in the stock controller, nodes that nothing has initialized are deleted too
// (`nodes.deletion.unseen`).

const FILE = "controllers/nodelifecycle/node_lifecycle_controller_test.go";

const TESTS: readonly RecordedTest[] = [
  ...["Test_NodesDeleted", "Test_NodesShutdown", "Test_GetProviderID"].map((test) => ({
    file: FILE,
    test,
    loop: "testcase",
    values: { case: "testcase" },
  })),
];

const LifecycleCase = z.object({
  case: z.object({
    name: z.string(),
    fakeCloud: UpstreamCloud,
    existingNode: TableNode,
    /** Without a name for a deleted node. */
    expectedNode: z.looseObject({ metadata: z.looseObject({}) }),
    expectedDeleted: z.boolean().prefault(false),
  }),
});

const ProviderIdCase = z.object({
  case: z.object({
    name: z.string(),
    fakeCloud: UpstreamCloud,
    existingNode: TableNode,
    expectedProviderID: z.string().prefault(""),
  }),
});

/** The tables of the node lifecycle controller. */
export const nodeLifecycleTables: ControllerTables = {
  name: "node-lifecycle-tables",
  tests: TESTS,
  explanations: {},
  play: playCases,
};

async function playCases(recorded: RecordedCases): Promise<ComparedCase[]> {
  const played: ComparedCase[] = [];
  for (const test of ["Test_NodesDeleted", "Test_NodesShutdown"]) {
    for (const values of recorded.casesOf(test)) {
      const { name, fakeCloud, existingNode, expectedNode, expectedDeleted } =
        LifecycleCase.parse(values).case;
      const expected = expectedDeleted ? DELETED : describeNode(TableNode.parse(expectedNode));
      const observed = await monitor(existingNode, fakeCloud);
      played.push({ test: `${test}/${name}`, expected, observed });
    }
  }
  for (const values of recorded.casesOf("Test_GetProviderID")) {
    const { name, fakeCloud, existingNode, expectedProviderID } = ProviderIdCase.parse(values).case;
    // Our lifecycle controller asks by the node as it is: its provider ID comes from the initialization, which
    // needs an address.
    const table = { ...fakeCloud, Addresses: [{ type: "InternalIP", address: "10.0.0.1" }] };
    const node = await initialize(withTaint(existingNode), table);
    const observed = node.spec?.["providerID"] ?? "";
    played.push({ test: `Test_GetProviderID/${name}`, expected: expectedProviderID, observed });
  }
  return played;
}

const DELETED = "deleted";

/** Longer than the proof of a deletion takes, at the longest interval of checks. */
const MONITOR_SECONDS = 120;

async function monitor(existing: TableNode, table: UpstreamCloud) {
  const { name } = existing.metadata;
  let questions = 0;
  const world = await createClusterWorld({
    controller: nodeLifecycleController,
    cloud: createInstancesCloud((node) => {
      questions += 1;
      return answerExistence(table, node);
    }),
    settings: { nodes: { deletion: { unseen: true } } },
    objects: [["nodes", existing], ...READY_NODES.map((node) => ["nodes", node] as const)],
  });
  try {
    await world.advance(MONITOR_SECONDS);
    const node = world.get("nodes", name);
    const isReady = JSON.stringify(existing.status).includes('"type":"Ready","status":"True"');
    if (isReady !== (questions === 0)) throw new Error(`${name}: the cloud was asked ${questions} times`);
    return node === undefined ? DELETED : describeNode(node);
  } finally {
    await world.close();
  }
}

/** Other nodes, whose kubelets report. */
const READY_NODES: readonly TableNode[] = ["node1", "node2", "node3"].map((name) => ({
  metadata: { name },
  status: { conditions: [{ type: "Ready", status: "True" }] },
}));
