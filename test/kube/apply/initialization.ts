import { UNINITIALIZED_TAINT } from "#core/contracts.ts";
import type { ClusterWrite, Decision, PatchOperation, TestOperation } from "#core/decision.ts";
import type { Node, NodeAddress } from "#core/node/node.ts";
import { UP_TO_DATE } from "#core/up-to-date.ts";

/** What is to be written on a node: the facts of its instance. */
export interface Facts {
  readonly providerID: string;
  readonly addresses: readonly NodeAddress[];
  readonly labels: Readonly<Record<string, string>>;
}

/** Facts that are told from those of other nodes by a number. */
export function factsNumber(number: number): Facts {
  return {
    providerID: `memory:///zone-a/i-${number}`,
    addresses: [{ type: "InternalIP", address: `10.0.${number >> 8}.${number & 255}` }],
    labels: { "topology.kubernetes.io/zone": "zone-a" },
  };
}

/** A level-triggered decision on one node: the two writes that bring it up, or what is left of them. */
export function initialize(node: Node, facts: Facts): Decision {
  const object = { kind: "Node", name: node.metadata.name, uid: node.metadata.uid } as const;
  const statusWrite = addressWrite(node, facts);
  const nodeWrite = initializationWrite(node, facts);
  const [first, ...rest] = [statusWrite, nodeWrite].filter((write) => write !== undefined);
  if (first === undefined)
    return { kind: "skip", object, because: { code: UP_TO_DATE, message: "initialized" } };
  return {
    kind: "change",
    object,
    because: { code: "Initialized", message: "initialized from its instance" },
    writes: [first, ...rest],
    events: [{ type: "Normal", reason: "Synced", code: "Initialized", message: "Node synced successfully" }],
    warnings: [],
  };
}

/** A write to a node: uid and tests, then the patch. */
export function nodeWrite(
  node: Node,
  tests: readonly TestOperation[],
  patch: ClusterWrite["patch"],
  subresource?: "status",
): ClusterWrite {
  return {
    on: "cluster",
    resource: "nodes",
    ...(subresource === undefined ? {} : { subresource }),
    verb: "patch",
    name: node.metadata.name,
    precondition: [test("/metadata/uid", node.metadata.uid), ...tests],
    patch,
  };
}

export function test(path: string, value: unknown): TestOperation {
  return { op: "test", path, value };
}

export function add(path: string, value: unknown): PatchOperation {
  return { op: "add", path, value };
}

function addressWrite(node: Node, facts: Facts): ClusterWrite | undefined {
  const addresses = node.status.addresses ?? null;
  if (JSON.stringify(addresses) === JSON.stringify(facts.addresses)) return undefined;
  const tests = [test("/status/addresses", addresses)];
  return nodeWrite(node, tests, [add("/status/addresses", facts.addresses)], "status");
}

function initializationWrite(node: Node, facts: Facts): ClusterWrite | undefined {
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
    ...labels.map(([key]) => test(labelPath(key), null)),
    ...taints.map(({ key, index }) => test(`/spec/taints/${index}/key`, key)),
  ];
  return nodeWrite(node, tests, [first, ...rest]);
}

function labelPath(key: string): string {
  return `/metadata/labels/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
