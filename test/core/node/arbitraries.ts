import * as fc from "fast-check";
import {
  INSTANCE_ANNOTATION,
  LABEL_PAIRS,
  PROVIDED_NODE_IP_ANNOTATION,
  UNINITIALIZED_TAINT,
} from "#core/contracts.ts";
import { EventReason } from "#core/event.ts";
import { type Instance, type InstanceAnswer, InstanceErrorCode, InstanceState } from "#core/instance.ts";
import type { Node, NodeAddress, Taint } from "#core/node/node.ts";
import { DEFAULT_SETTINGS, type Settings } from "#core/settings.ts";
import {
  buildInternalAddress,
  getCreationTime,
  IDENTITY,
  LABEL_PREFIXES,
  NOW,
  TAINT,
} from "#test/core/node/builders.ts";

const { constant, constantFrom, oneof, option, record, uniqueArray } = fc;

/** Few values, so that a node and its instance often agree, fully or in part. */
const ips = constantFrom(
  "10.0.0.1",
  "10.0.0.2",
  "010.0.0.1",
  "::ffff:10.0.0.1",
  "2001:db8::1",
  "2001:DB8:0::1",
  "::",
);
const addresses: fc.Arbitrary<NodeAddress> = oneof(
  record({ type: constantFrom("InternalIP", "ExternalIP", "Hostname", "InternalDNS"), address: ips }),
  record({
    type: constantFrom("Hostname", "InternalDNS"),
    address: constantFrom("a.internal", "b.internal"),
  }),
  record({ type: constant("InternalIP"), address: ips, future: constantFrom("x", "y") }),
);
const addressLists = fc.array(addresses, { maxLength: 5 });

const pairKeys = LABEL_PAIRS.flatMap(({ beta, stable }) => [beta, stable]);
const cloudKeys = LABEL_PREFIXES.flatMap((prefix) => [`${prefix}a`, `${prefix}b~c`, `${prefix}b`]);
const foreignKeys = ["kubernetes.io/hostname", "example.com/a", "rack"];
const labelValues = constantFrom("", "a", "b", "c d", "v".repeat(64));

const taints: fc.Arbitrary<Taint> = oneof(
  record({ key: constant(UNINITIALIZED_TAINT), effect: constantFrom("NoSchedule", "NoExecute") }),
  record({ key: constantFrom("a", "b"), effect: constant("NoExecute"), timeAdded: constantFrom("t", "u") }),
);

const nodeIps = oneof(
  constantFrom("", "eth0", "10.0.0.1,10.0.0.2", "10.0.0.1,::"),
  fc.array(ips, { minLength: 1, maxLength: 2 }).map((list) => list.join(",")),
);

const annotations = record(
  {
    [PROVIDED_NODE_IP_ANNOTATION]: nodeIps,
    [INSTANCE_ANNOTATION]: constantFrom(IDENTITY, "other"),
    "example.com/note": constant("x"),
  },
  { requiredKeys: [] },
);

/** Nodes of any age, tainted or not, in any state that kubelets, users and other controllers leave. */
export const nodes: fc.Arbitrary<Node> = record({
  metadata: record(
    {
      name: constantFrom("node-a", "node-b"),
      uid: fc.uuid(),
      resourceVersion: constant("7"),
      creationTimestamp: oneof(fc.integer({ min: -10, max: 9_999 }).map(getCreationTime), constant("soon")),
      deletionTimestamp: constant("2026-03-01T11:59:59Z"),
      labels: fc.dictionary(constantFrom(...pairKeys, ...cloudKeys, ...foreignKeys), labelValues),
      annotations,
    },
    { requiredKeys: ["name", "uid", "resourceVersion", "creationTimestamp"] },
  ),
  spec: record(
    { providerID: constantFrom("memory:///i-1", "other:///i-1"), taints: fc.array(taints, { maxLength: 4 }) },
    { requiredKeys: [] },
  ),
  status: record(
    {
      addresses: addressLists,
      conditions: uniqueArray(constantFrom("Ready", "MemoryPressure"), { maxLength: 2 }).map((types) =>
        types.map((type) => ({ type, status: "True" })),
      ),
    },
    { requiredKeys: [] },
  ),
});

export const instances: fc.Arbitrary<Instance> = record({
  id: constant("i-1"),
  account: constant("1"),
  network: constant("n"),
  state: constantFrom(...InstanceState.options),
  providerID: constant("memory:///i-1"),
  type: labelValues,
  zone: labelValues,
  region: labelValues,
  addresses: addressLists,
  labels: fc.dictionary(constantFrom(...pairKeys, ...cloudKeys, "kubernetes.io/os"), labelValues),
});

/** Instances that the cloud found. */
export const founds: fc.Arbitrary<InstanceAnswer> = record({ kind: constant("found"), instance: instances });

/** Nodes that wait for their instance. */
export const taintedNodes: fc.Arbitrary<Node> = fc.tuple(nodes, fc.array(taints, { maxLength: 2 })).map(
  ([
    {
      metadata: { deletionTimestamp: _, ...metadata },
      spec,
      status,
    },
    others,
  ]) => ({
    metadata,
    spec: { ...spec, taints: [...others, TAINT, ...(spec.taints ?? [])] },
    status,
  }),
);

/** Instances from which most of these nodes can be initialized. */
export const usableInstances: fc.Arbitrary<InstanceAnswer> = instances.map((instance) => ({
  kind: "found",
  instance: {
    ...instance,
    state: "running",
    addresses: [...instance.addresses, buildInternalAddress("10.0.0.1")],
  },
}));

export const failures: fc.Arbitrary<InstanceAnswer> = oneof(
  record(
    { kind: constant("not-found"), message: constant("none"), takenOverBy: constant("i-2") },
    { requiredKeys: ["kind", "message"] },
  ),
  record({
    kind: constant("error"),
    code: constantFrom(...InstanceErrorCode.options),
    message: fc.string({ maxLength: 2_000 }),
  }),
);

export const answers: fc.Arbitrary<InstanceAnswer> = oneof({ arbitrary: founds, weight: 4 }, failures);
export const possibleAnswers = option(answers, { nil: undefined, freq: 9 });
export const reasons = constantFrom(...EventReason.options);
export const settings = record({ addMissing: fc.boolean(), correctDiffering: fc.boolean() }).map(
  (labels): Settings => ({ ...DEFAULT_SETTINGS, nodes: { ...DEFAULT_SETTINGS.nodes, labels } }),
);
export const contexts = record({ reason: reasons, now: constant(NOW), settings });
