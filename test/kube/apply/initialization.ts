import { buildClusterEvent } from "#core/cluster-events.ts";
import { UNINITIALIZED_TAINT } from "#core/contracts.ts";
import type { Decision, PatchOperation, PatchWrite, TestOperation } from "#core/decision.ts";
import { leaveUnchanged, toReference } from "#core/decisions.ts";
import { Node, type NodeAddress } from "#core/node/node.ts";
import { NODES } from "#core/resources/resource.ts";
import type { Decider } from "#kube/apply/context.ts";

/** The desired writes on a node: the facts of its instance. */
export interface Facts {
  readonly providerID: string;
  readonly addresses: readonly NodeAddress[];
  readonly labels: Readonly<Record<string, string>>;
}

/** Facts that a number makes unique to a node. */
export function buildFacts(number: number): Facts {
  return {
    providerID: `memory:///zone-a/i-${number}`,
    addresses: [{ type: "InternalIP", address: `10.0.${number >> 8}.${number & 255}` }],
    labels: { "topology.kubernetes.io/zone": "zone-a" },
  };
}

/** A level-triggered decision on one node: the two writes that bring it up, or what is left of them. */
export function initialize(node: Node, facts: Facts): Decision {
  const object = toReference(NODES, node);
  const statusWrite = addressWrite(node, facts);
  const nodeWrite = initializationWrite(node, facts);
  const [first, ...rest] = [statusWrite, nodeWrite].filter((write) => write !== undefined);
  if (first === undefined) return leaveUnchanged(object);
  return {
    kind: "change",
    object,
    because: { code: "Initialized", message: "initialized from its instance" },
    writes: [first, ...rest],
    events: [buildClusterEvent("Synced", "Initialized", {})],
    warnings: [],
  };
}

/** What decides on nodes by the facts of their place in the list. */
export function createDecider(): Decider {
  return {
    decideAgain: (object, index) => initialize(Node.parse(object), buildFacts(index)),
    decideNext: () => undefined,
  };
}

/** A write to a node: uid and tests, then the patch. */
export function buildNodeWrite(
  node: Node,
  tests: readonly TestOperation[],
  patch: PatchWrite["patch"],
  subresource?: "status",
): PatchWrite {
  return {
    on: "cluster",
    apiVersion: "v1",
    resource: "nodes",
    ...(subresource === undefined ? {} : { subresource }),
    verb: "patch",
    name: node.metadata.name,
    precondition: [buildTest("/metadata/uid", node.metadata.uid), ...tests],
    patch,
  };
}

export function buildTest(path: string, value: unknown): TestOperation {
  return { op: "test", path, value };
}

export function add(path: string, value: unknown): PatchOperation {
  return { op: "add", path, value };
}

function addressWrite(node: Node, facts: Facts): PatchWrite | undefined {
  const addresses = node.status.addresses ?? null;
  if (JSON.stringify(addresses) === JSON.stringify(facts.addresses)) return undefined;
  const tests = [buildTest("/status/addresses", addresses)];
  return buildNodeWrite(node, tests, [add("/status/addresses", facts.addresses)], "status");
}

function initializationWrite(node: Node, facts: Facts): PatchWrite | undefined {
  const taints = (node.spec.taints ?? [])
    .map(({ key }, index) => ({ key, index }))
    .filter(({ key }) => key === UNINITIALIZED_TAINT)
    .reverse();
  if (taints.length === 0) return undefined;
  const labels = Object.entries(facts.labels).filter(([key]) => node.metadata.labels?.[key] === undefined);
  const [first, ...rest]: PatchOperation[] = [
    ...(node.spec.providerID === undefined ? [add("/spec/providerID", facts.providerID)] : []),
    ...labels.map(([key, value]) => add(labelPath(key), value)),
    ...taints.map(({ index }): PatchOperation => ({ op: "remove", path: `/spec/taints/${index}` })),
  ];
  if (first === undefined) return undefined;
  const tests = [
    ...labels.map(([key]) => buildTest(labelPath(key), null)),
    ...taints.map(({ key, index }) => buildTest(`/spec/taints/${index}/key`, key)),
  ];
  return buildNodeWrite(node, tests, [first, ...rest]);
}

function labelPath(key: string): string {
  return `/metadata/labels/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
