import * as z from "zod";
import { LABEL_PAIRS, UNINITIALIZED_TAINT } from "#core/contracts.ts";
import { setAddresses } from "#core/node/addresses.ts";
import { nodeController } from "#core/node/controller.ts";
import { Node, NodeAddress } from "#core/node/node.ts";
import type { StoredObject } from "#emulators/api-server/object.ts";
import { createClusterWorld } from "#test/upstream/tables/cluster-world.ts";
import type { RecordedCases, RecordedTest } from "#test/upstream/tables/recorded-cases.ts";
import type { ComparedCase, ControllerTables } from "#test/upstream/tables/rows.ts";
import { describeNode, TableNode } from "#test/upstream/tables/table-node.ts";
import { answerMetadata, createInstancesCloud, UpstreamCloud } from "#test/upstream/tables/upstream-cloud.ts";

// The node controller's own tables. The cluster has the case's node, and a cloud that answers by the case's
// table. The relay and its function do what follows. The node's new state is compared, without the annotation
// that names its instance.

const FILE = "controllers/node/node_controller_test.go";

const TESTS: readonly RecordedTest[] = [
  { file: FILE, test: "Test_syncNode", loop: "test", values: { case: "test" } },
  { file: FILE, test: "Test_reconcileNodeLabels", loop: "test", values: { case: "test" } },
  {
    file: FILE,
    test: "TestNodeAddressesChangeDetected",
    call: "nodeAddressesChangeDetected",
    values: {
      before: "addressSet1",
      after: "addressSet2",
      changed: "nodeAddressesChangeDetected(addressSet1, addressSet2)",
    },
  },
  ...["TestNodeAddressesNotUpdate", "TestNodeAddressesNotUpdateV2"].map((test) => ({
    file: FILE,
    test,
    call: "getInstanceNodeAddresses",
    values: { existingNode: "existingNode", fakeCloud: "fakeCloud" },
  })),
  { file: FILE, test: "TestGetInstanceMetadata", loop: "test", values: { case: "test" } },
  {
    file: FILE,
    test: "TestUpdateNodeStatus",
    loop: "test",
    values: { case: "test", nodes: "generateNodes(test.nodes)" },
  },
];

/** The rows of differences.md that explain the cases whose result differs. */
const EXPLANATIONS: Readonly<Record<string, string>> = {
  "Test_syncNode/provider ID not implemented": "The cloud names no provider ID",
  "TestGetInstanceMetadata/cloud implemented with Instances (providerID not implemented)":
    "The cloud names no provider ID",
  TestNodeAddressesNotUpdate: "Order of writes",
  "TestUpdateNodeStatus/single thread": "Timers",
  "TestUpdateNodeStatus/5 workers": "Timers",
  "TestUpdateNodeStatus/10 workers": "Timers",
  "TestUpdateNodeStatus/30 workers": "Timers",
};

const SyncCase = z.object({
  case: z.object({
    name: z.string(),
    fakeCloud: UpstreamCloud,
    existingNode: TableNode,
    updatedNode: TableNode,
  }),
});

const LabelsCase = z.object({
  case: z.object({
    name: z.string(),
    labels: z.record(z.string(), z.string()),
    expectedLabels: z.record(z.string(), z.string()),
  }),
});

const AddressesCase = z.object({
  before: z.array(NodeAddress),
  after: z.array(NodeAddress),
  changed: z.boolean(),
});

const NotUpdatedCase = z.object({ existingNode: TableNode, fakeCloud: UpstreamCloud });

const Metadata = z.object({
  ProviderID: z.string().prefault(""),
  InstanceType: z.string().prefault(""),
  Zone: z.string().prefault(""),
  Region: z.string().prefault(""),
  NodeAddresses: z.array(NodeAddress),
});

const MetadataCase = z.object({
  case: z.object({
    name: z.string(),
    fakeCloud: UpstreamCloud,
    existingNode: TableNode,
    expectedMetadata: Metadata,
    expectErr: z.boolean().prefault(false),
  }),
});

const LoopCase = z.object({
  case: z.object({ name: z.string(), nodes: z.number() }),
  nodes: z.array(TableNode),
});

/** The tables of the node controller. */
export const nodeTables: ControllerTables = {
  name: "node-tables",
  tests: TESTS,
  explanations: EXPLANATIONS,
  play: playCases,
};

async function playCases(recorded: RecordedCases): Promise<ComparedCase[]> {
  const played: ComparedCase[] = [];
  for (const values of recorded.casesOf("Test_syncNode")) {
    const { name, fakeCloud, existingNode, updatedNode } = SyncCase.parse(values).case;
    const observed = describeNode(await initialize(existingNode, fakeCloud));
    played.push({ test: `Test_syncNode/${name}`, expected: describeNode(updatedNode), observed });
  }
  for (const values of recorded.casesOf("Test_reconcileNodeLabels")) {
    const { name, labels, expectedLabels } = LabelsCase.parse(values).case;
    const node = await initialize({ metadata: { name: "node01", labels } }, UpstreamCloud.parse({}));
    const observed = node.metadata.labels;
    played.push({ test: `Test_reconcileNodeLabels/${name}`, expected: expectedLabels, observed });
  }
  for (const values of recorded.casesOf("TestNodeAddressesChangeDetected")) {
    const { before, after, changed } = AddressesCase.parse(values);
    const edit = setAddresses(buildNode(before), after);
    const observed = edit.operations.length > 0;
    played.push({ test: "TestNodeAddressesChangeDetected", expected: changed, observed });
  }
  for (const test of ["TestNodeAddressesNotUpdate", "TestNodeAddressesNotUpdateV2"]) {
    for (const values of recorded.casesOf(test)) {
      const { existingNode, fakeCloud } = NotUpdatedCase.parse(values);
      const node = await initialize(existingNode, fakeCloud);
      played.push({ test, expected: [], observed: node.status?.["addresses"] ?? [] });
    }
  }
  for (const values of recorded.casesOf("TestGetInstanceMetadata")) {
    const { name, fakeCloud, existingNode, expectedMetadata, expectErr } = MetadataCase.parse(values).case;
    const node = await initialize(withTaint(existingNode), fakeCloud);
    const observed = readMetadata(node);
    const expected = expectErr ? "an error" : expectedMetadata;
    played.push({ test: `TestGetInstanceMetadata/${name}`, expected, observed });
  }
  for (const values of recorded.casesOf("TestUpdateNodeStatus")) {
    const parsed = LoopCase.parse(values);
    const observed = `${await countCallsOfRefresh(parsed.nodes)} calls`;
    const expected = `${parsed.case.nodes} calls`;
    played.push({ test: `TestUpdateNodeStatus/${parsed.case.name}`, expected, observed });
  }
  return played;
}

/** Longer than a batch, its invocation and a first retry take, and shorter than any resync. */
const SYNC_SECONDS = 10;

/**
 * Returns the node after the function has worked on it. Rejects if the relay sent no event about a node that
 * waits for its cloud: then an unchanged node is no result.
 */
export async function initialize(existing: TableNode, table: UpstreamCloud): Promise<StoredObject> {
  const world = await createClusterWorld({
    controller: nodeController,
    cloud: createInstancesCloud((node) => answerMetadata(table, node)),
    objects: [["nodes", existing]],
  });
  try {
    await world.advance(SYNC_SECONDS);
    if (isWaiting(existing) && world.invocations() === 0) throw new Error("no event was sent");
    const node = world.get("nodes", existing.metadata.name);
    if (node === undefined) throw new Error(`${existing.metadata.name} is gone`);
    return node;
  } finally {
    await world.close();
  }
}

function isWaiting({ spec }: TableNode): boolean {
  return JSON.stringify(spec?.["taints"] ?? []).includes(UNINITIALIZED_TAINT);
}

/** Longer than the interval of refreshes, and shorter than two. */
const REFRESH_SECONDS = 400;

/** Returns how often the cloud is called for one refresh of all nodes. */
async function countCallsOfRefresh(nodes: readonly TableNode[]): Promise<number> {
  let calls = 0;
  const cloud = createInstancesCloud((node) => answerMetadata(UpstreamCloud.parse({}), node));
  const world = await createClusterWorld({
    controller: nodeController,
    cloud: {
      ...cloud,
      instances(...question) {
        calls += 1;
        return cloud.instances(...question);
      },
    },
    objects: nodes.map((node) => ["nodes", node]),
  });
  try {
    await world.advance(REFRESH_SECONDS);
    return calls;
  } finally {
    await world.close();
  }
}

/** Returns the node with the taint of one that waits: only then it is initialized. */
export function withTaint(node: TableNode): TableNode {
  return { ...node, spec: { ...node.spec, taints: [{ key: UNINITIALIZED_TAINT, effect: "NoSchedule" }] } };
}

function buildNode(addresses: readonly NodeAddress[]): Node {
  const metadata = {
    name: "node0",
    uid: "uid",
    resourceVersion: "1",
    creationTimestamp: "2012-01-01T00:00:00Z",
  };
  return Node.parse({ metadata, status: { addresses } });
}

/** What a node has from its instance, in the fields of upstream's metadata. */
function readMetadata(stored: StoredObject): z.output<typeof Metadata> | "an error" {
  const { metadata, spec, status } = Node.parse(stored);
  if (spec.taints?.some(({ key }) => key === UNINITIALIZED_TAINT)) return "an error";
  const [InstanceType = "", Zone = "", Region = ""] = LABEL_PAIRS.map(
    ({ stable }) => metadata.labels?.[stable],
  );
  return {
    ProviderID: spec.providerID ?? "",
    InstanceType,
    Zone,
    Region,
    NodeAddresses: status.addresses ?? [],
  };
}
