import * as z from "zod";
import type { Capability } from "#clouds/cloud.ts";
import { createMemoryLoadBalancers } from "#clouds/memory/load-balancers/capability.ts";
import { type MemoryLoadBalancer, memoryLoadBalancerModel } from "#clouds/memory/load-balancers/model.ts";
import { LOAD_BALANCER_FINALIZER } from "#core/contracts.ts";
import { createServiceController } from "#core/service/controller.ts";
import type { StoredObject } from "#emulators/api-server/object.ts";
import { type ClusterWorld, createClusterWorld } from "#test/upstream/tables/cluster-world.ts";
import type { RecordedCases, RecordedTest } from "#test/upstream/tables/recorded-cases.ts";
import { type ComparedCase, type ControllerTables, explainCases } from "#test/upstream/tables/rows.ts";
import { TableNode } from "#test/upstream/tables/table-node.ts";
import {
  answerExistence,
  createInstancesCloud,
  UpstreamCloud,
} from "#test/upstream/tables/upstream-cloud.ts";

// The service controller's own tables. A Service is in a cluster whose cloud has the memory cloud's load
// balancers. Upstream compares two states in one function. Here the cluster comes to rest in the first state,
// and then gets the second one. Upstream's nodes share a provider ID. Here each has its own, because load
// balancers know their targets by it.

const FILE = "controllers/service/controller_test.go";

const TESTS: readonly RecordedTest[] = [
  ...[
    "TestSyncLoadBalancerIfNeeded",
    "TestNeedsCleanup",
    "TestAddFinalizer",
    "TestRemoveFinalizer",
    "TestPatchStatus",
  ].map((test) => ({ file: FILE, test, loop: "tc", values: { case: "tc" } })),
  {
    file: FILE,
    test: "TestNeedsUpdate",
    loop: "tc",
    values: { case: "tc", services: "recordAll(tc.updateFn())" },
  },
  ...["individual", "compounded"].map((name) => ({
    file: FILE,
    test: `Test_shouldSyncUpdatedNode_${name}Predicates`,
    loop: "testcase",
    values: { case: "testcase" },
  })),
  {
    file: FILE,
    test: "TestUpdateNodesInExternalLoadBalancer",
    loop: "item",
    values: { case: "item", services: "item.services", after: "nodes" },
  },
  {
    file: FILE,
    test: "TestNodeChangesForStableNodeSetEnabled",
    loop: "tc",
    values: { case: "tc", services: "services", before: "tc.initialState", changes: "tc.stateChanges" },
  },
  {
    file: FILE,
    test: "TestNodeChangesInExternalLoadBalancer",
    loop: "tc",
    values: { case: "tc", services: "services", after: "tc.nodes", failure: "tc.nodeListerErr" },
  },
  {
    file: FILE,
    test: "TestNodesNotEqual",
    loop: "tc",
    values: { case: "tc", services: "services", before: "tc.lastSyncNodes", after: "tc.newNodes" },
  },
];

/** The rows of differences.md that explain the cases whose result differs. */
const EXPLANATIONS: Readonly<Record<string, string>> = {
  ...explainCases("TestNeedsUpdate", "`spec.externalIPs` of a Service", [
    "If external ip counts are different",
    "If external ips are different",
  ]),
  ...explainCases("Test_shouldSyncUpdatedNode_individualPredicates", "Label of a node", [
    "other label changed F->T",
    "other label changed T->F",
  ]),
  ...explainCases("Test_shouldSyncUpdatedNode_individualPredicates", "Node that will soon leave", [
    "deletionTimestamp F -> T",
  ]),
  ...explainCases("Test_shouldSyncUpdatedNode_compoundedPredicates", "Node that will soon leave", [
    "ready F, tainted F->T",
    "ready F, tainted T->F",
    "providerID unset, tainted T->F",
    "providerID unset, tainted F->T",
  ]),
  ...explainCases("Test_shouldSyncUpdatedNode_compoundedPredicates", "Change of a node that is no target", [
    "tainted T, excluded F->T",
    "tainted T, excluded T->F",
    "tainted T, providerID set F->T",
    "tainted T, providerID set T->F",
    "tainted T, providerID change",
    "excluded T, providerID set F->T",
    "excluded T, providerID set T->F",
    "excluded T, providerID change",
  ]),
};

const TableService = z.looseObject({
  metadata: z.looseObject({ name: z.string().optional(), finalizers: z.array(z.string()).optional() }),
  spec: z.looseObject({ type: z.string().optional() }),
  status: z.looseObject({}).optional(),
});
type TableService = z.output<typeof TableService>;

const SyncCase = z.object({
  case: z.object({
    desc: z.string(),
    service: TableService,
    lbExists: z.boolean().prefault(false),
    expectCreateAttempt: z.boolean().prefault(false),
    expectDeleteAttempt: z.boolean().prefault(false),
    expectPatchStatus: z.boolean().prefault(false),
    expectPatchFinalizer: z.boolean().prefault(false),
  }),
});

const CleanupCase = z.object({
  case: z.object({ desc: z.string(), svc: TableService, expectNeedsCleanup: z.boolean().prefault(false) }),
});

const PatchCase = z.object({
  case: z.object({
    desc: z.string(),
    svc: TableService,
    newStatus: z.looseObject({ ingress: z.array(z.unknown()).optional() }).optional(),
    expectPatch: z.boolean().prefault(false),
  }),
});

const UpdateCase = z.object({
  case: z.object({ testName: z.string(), expectedNeedsUpdate: z.boolean().prefault(false) }),
  services: z.tuple([TableService, TableService]),
});

const NodeUpdateCase = z.object({
  case: z.object({
    name: z.string(),
    oldNode: TableNode,
    newNode: TableNode,
    shouldSync: z.boolean().prefault(false),
  }),
});

const Nodes = z.array(TableNode);

const TargetsCase = z.object({
  case: z.object({
    desc: z.string(),
    expectedUpdateCalls: z.array(z.object({ Service: TableService, Hosts: Nodes })).nullish(),
  }),
  services: z.array(TableService.nullable()),
  before: Nodes.prefault([]),
  after: Nodes.optional(),
  changes: z.array(z.object({ nodes: Nodes, syncCallErr: z.boolean().prefault(false) })).optional(),
  failure: z.unknown().optional(),
});

/** The tables of the service controller. */
export const serviceTables: ControllerTables = {
  name: "service-tables",
  tests: TESTS,
  explanations: EXPLANATIONS,
  play: playCases,
};

async function playCases(recorded: RecordedCases): Promise<ComparedCase[]> {
  const played: ComparedCase[] = [];
  const play = async <Case>(
    test: string,
    schema: z.ZodType<Case>,
    compare: (of: Case) => Promise<ComparedCase>,
  ): Promise<void> => {
    for (const values of recorded.casesOf(test)) {
      const compared = await compare(schema.parse(values));
      played.push({ ...compared, test: `${test}/${compared.test}` });
    }
  };
  await play("TestSyncLoadBalancerIfNeeded", SyncCase, async ({ case: of }) => ({
    test: of.desc,
    expected: {
      created: of.expectCreateAttempt,
      deleted: of.expectDeleteAttempt,
      status: of.expectPatchStatus,
      finalizer: of.expectPatchFinalizer,
    },
    observed: await syncService(of.service, of.lbExists),
  }));
  await play("TestNeedsCleanup", CleanupCase, async ({ case: of }) => ({
    test: of.desc,
    expected: of.expectNeedsCleanup,
    observed: (await syncService(of.svc, true)).deleted,
  }));
  await play("TestNeedsUpdate", UpdateCase, async ({ case: of, services }) => ({
    test: of.testName,
    expected: of.expectedNeedsUpdate,
    observed: await isSentAfterUpdate(...services),
  }));
  for (const test of ["individual", "compounded"])
    await play(`Test_shouldSyncUpdatedNode_${test}Predicates`, NodeUpdateCase, async ({ case: of }) => ({
      test: of.name,
      expected: of.shouldSync,
      observed: await isSentAfterNodeUpdate(of.oldNode, of.newNode),
    }));
  const followed = [
    "TestUpdateNodesInExternalLoadBalancer",
    "TestNodeChangesForStableNodeSetEnabled",
    "TestNodeChangesInExternalLoadBalancer",
    "TestNodesNotEqual",
  ];
  for (const test of followed)
    await play(test, TargetsCase, async (of) => ({
      test: of.case.desc,
      expected: describeCalls(of.case.expectedUpdateCalls ?? []),
      observed: await followNodes(of),
    }));
  await play("TestAddFinalizer", PatchCase, async ({ case: of }) => ({
    test: of.desc,
    expected: of.expectPatch,
    observed: (await syncService(withType(of.svc, "LoadBalancer"), false)).finalizer,
  }));
  await play("TestRemoveFinalizer", PatchCase, async ({ case: of }) => ({
    test: of.desc,
    expected: of.expectPatch,
    observed: (await syncService(withType(of.svc, "ClusterIP"), false)).finalizer,
  }));
  await play("TestPatchStatus", PatchCase, async ({ case: of }) => ({
    test: of.desc,
    expected: of.expectPatch,
    observed: await isStatusChanged(of.svc, (of.newStatus?.ingress ?? []).length > 0),
  }));
  return played;
}

/** A cluster with load balancers, and the cloud's actions on them. */
interface ServiceWorld extends ClusterWorld {
  readonly loadBalancers: Map<string, MemoryLoadBalancer>;
  /** The actions since the last `forget`. */
  readonly actions: string[];
  /** Sets whether the cloud refuses every action. */
  refuse(refuses: boolean): void;
}

type Objects = Parameters<typeof createClusterWorld>[0]["objects"];

async function createServiceWorld(objects: NonNullable<Objects>, canListNodes = true): Promise<ServiceWorld> {
  const loadBalancers = new Map<string, MemoryLoadBalancer>();
  const actions: string[] = [];
  let refusing = false;
  const memory = createMemoryLoadBalancers({}, loadBalancers);
  const capability: Capability = {
    observe: (questions, call) => memory.observe(questions, call),
    async act(action, call) {
      if (refusing) {
        const usage = { calls: { [action.action]: 1 }, throttled: 0, waitedMs: 0 };
        return { answer: { kind: "error", code: "Unavailable", message: "error please" }, usage };
      }
      actions.push(action.action);
      return memory.act(action, call);
    },
  };
  const world = await createClusterWorld({
    controller: createServiceController({ memory: async () => memoryLoadBalancerModel }),
    cloud: createInstancesCloud((node) => answerExistence(UpstreamCloud.parse({}), node), {
      loadBalancers: capability,
    }),
    objects,
    isFailing: ({ path }) => !canListNodes && path.startsWith("/api/v1/nodes"),
  });
  return {
    ...world,
    loadBalancers,
    actions,
    forget() {
      world.forget();
      actions.length = 0;
    },
    refuse(refuses) {
      refusing = refuses;
    },
  };
}

/** Longer than anything that follows from a change, and shorter than the interval of refreshes. */
const REST_SECONDS = 200;

const UID = "11111111-2222-4333-8444-555555555555";

/** Returns what changes after a Service appears as it is. */
async function syncService(service: TableService, exists: boolean) {
  const whole = withIdentity(service);
  const world = await createServiceWorld([["nodes", withOwnProviderId(NODE)]]);
  try {
    if (exists) world.loadBalancers.set(UID, buildLoadBalancer(whole.metadata.name));
    await world.advance(REST_SECONDS);
    world.forget();
    world.put("services", whole);
    const before = JSON.stringify(readIngress(world.get("services", whole.metadata.name)));
    await world.advance(REST_SECONDS);
    const after = world.get("services", whole.metadata.name);
    const finalizers = after?.metadata.finalizers ?? [];
    return {
      created: world.actions.includes("CreateLoadBalancer"),
      deleted: world.actions.includes("DeleteLoadBalancer"),
      status: JSON.stringify(readIngress(after)) !== before,
      finalizer:
        finalizers.includes(LOAD_BALANCER_FINALIZER) !==
        (service.metadata.finalizers ?? []).includes(LOAD_BALANCER_FINALIZER),
    };
  } finally {
    await world.close();
  }
}

/** Returns whether the status changes, once the cloud has the load balancer or none; `8.8.8.8` is its address. */
async function isStatusChanged(service: TableService, hasLoadBalancer: boolean): Promise<boolean> {
  const type = hasLoadBalancer ? "LoadBalancer" : "ClusterIP";
  const hadIngress = readIngress(service).length > 0;
  const status = hadIngress ? { loadBalancer: { ingress: [{ hostname: `${UID}.memory.example` }] } } : {};
  const metadata = { ...service.metadata, finalizers: [LOAD_BALANCER_FINALIZER] };
  return (await syncService({ ...withType({ ...service, metadata }, type), status }, hasLoadBalancer)).status;
}

/** Returns whether the relay sends a Service again when it changes. */
async function isSentAfterUpdate(before: TableService, after: TableService): Promise<boolean> {
  const world = await createServiceWorld([
    ["nodes", withOwnProviderId(NODE)],
    ["services", withIdentity(before)],
  ]);
  try {
    await world.advance(REST_SECONDS);
    world.forget();
    const stored = world.get("services", before.metadata.name ?? "");
    if (stored === undefined) throw new Error(`${before.metadata.name} is gone`);
    world.put("services", replaceService(stored, after));
    await world.advance(10);
    return world.invocations() > 0;
  } finally {
    await world.close();
  }
}

/** Returns whether the relay sends a Service with a load balancer again when a node changes. */
async function isSentAfterNodeUpdate(before: TableNode, after: TableNode): Promise<boolean> {
  const world = await createServiceWorld([
    ["nodes", withOwnProviderId(before)],
    ["services", withIdentity(SERVICE)],
  ]);
  try {
    await world.advance(REST_SECONDS);
    world.forget();
    world.put("nodes", withOwnProviderId(after));
    await world.advance(10);
    return world.invocations() > 0;
  } finally {
    await world.close();
  }
}

/** Returns the targets of each load balancer that is updated when nodes change. */
async function followNodes(of: z.output<typeof TargetsCase>): Promise<Record<string, string[]>> {
  const services = of.services.flatMap((service) => service ?? []).map((service) => ({ ...service }));
  const world = await createServiceWorld(
    [
      ...of.before.map((node) => ["nodes", withOwnProviderId(node)] as const),
      ...services.map((service) => ["services", service] as const),
    ],
    of.failure == null,
  );
  const readTargets = (): Map<string, readonly string[]> =>
    new Map([...world.loadBalancers.values()].map(({ service, targets }) => [service, targets]));
  try {
    await world.advance(REST_SECONDS);
    const before = readTargets();
    let known = of.before;
    for (const { nodes, syncCallErr } of of.changes ?? [{ nodes: of.after ?? [], syncCallErr: false }]) {
      world.refuse(syncCallErr);
      const gone = known.filter(
        ({ metadata }) => !nodes.some((node) => node.metadata.name === metadata.name),
      );
      for (const { metadata } of gone) world.remove("nodes", metadata.name);
      for (const node of nodes) world.put("nodes", withOwnProviderId(node));
      known = nodes;
      await world.advance(REST_SECONDS);
    }
    const updated = [...readTargets()].filter(
      ([service, targets]) => JSON.stringify(targets) !== JSON.stringify(before.get(service)),
    );
    return Object.fromEntries(updated.map(([service, targets]) => [service, [...targets]]));
  } finally {
    await world.close();
  }
}

function describeCalls(calls: readonly { readonly Service: TableService; readonly Hosts: TableNode[] }[]) {
  return Object.fromEntries(
    calls.map(({ Service: { metadata }, Hosts }) => [
      `default/${metadata.name}`,
      Hosts.map((host) => String(withOwnProviderId(host).spec?.["providerID"])).sort(),
    ]),
  );
}

const NODE: TableNode = { metadata: { name: "node1" }, spec: { providerID: "providerID" } };

const SERVICE: TableService = {
  metadata: { name: "web", namespace: "default" },
  spec: { type: "LoadBalancer", ports: [{ port: 80, protocol: "TCP" }] },
};

function withOwnProviderId(node: TableNode): TableNode {
  const providerID = String(node.spec?.["providerID"] ?? "");
  return {
    ...node,
    spec: { ...node.spec, providerID: providerID === "" ? "" : `${providerID}/${node.metadata.name}` },
  };
}

/** Returns what the API server stores if `after` replaces a Service: it keeps what it allocated before. */
function replaceService({ metadata, spec, status }: StoredObject, after: TableService): TableService {
  const Ports = z.array(z.looseObject({ port: z.int(), protocol: z.string().prefault("TCP") }));
  const before = Ports.parse(spec?.["ports"]);
  const ports = Ports.parse(after.spec["ports"]).map((port) => ({
    nodePort: before.find((each) => each.port === port.port && each.protocol === port.protocol)?.["nodePort"],
    ...port,
  }));
  return {
    metadata: { ...metadata, ...after.metadata },
    spec: { clusterIP: spec?.["clusterIP"], clusterIPs: spec?.["clusterIPs"], ...after.spec, ports },
    status,
  };
}

function withType(service: TableService, type: string): TableService {
  return { ...service, spec: { ...service.spec, type } };
}

/** Some of upstream's Services have neither a name nor ports. */
function withIdentity({ metadata, spec, ...rest }: TableService) {
  const { name = "web" } = metadata;
  return {
    ...rest,
    metadata: { uid: UID, ...metadata, name, namespace: "default" },
    spec: { ports: SERVICE.spec["ports"], ...spec },
  };
}

function buildLoadBalancer(name: string): MemoryLoadBalancer {
  return {
    cluster: "tenant-a",
    service: `default/${name}`,
    hostname: `${UID}.memory.example`,
    listeners: [],
    targets: [],
  };
}

function readIngress(service: { readonly status?: unknown } | undefined): readonly unknown[] {
  const Status = z.object({ loadBalancer: z.object({ ingress: z.array(z.unknown()) }) });
  return Status.safeParse(service?.status).data?.loadBalancer.ingress ?? [];
}
