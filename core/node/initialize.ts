import { INSTANCE_ANNOTATION, PROVIDED_NODE_IP_ANNOTATION } from "#core/contracts.ts";
import type { ClusterWrite, Decision, PatchOperation, TestOperation } from "#core/decision.ts";
import type { Instance } from "#core/instance.ts";
import { desiredAddresses, hasIp, isSameList } from "#core/node/addresses.ts";
import { type LabelChanges, labelChanges } from "#core/node/labels.ts";
import type { Node, NodeAddress } from "#core/node/node.ts";
import { ageSeconds, patience, referenceOf, retry, retryWithWarning } from "#core/node/outcome.ts";
import { add, addLabels, nodeWrite, type PatchPart, pointer, test } from "#core/node/patch.ts";
import { removeUninitializedTaints } from "#core/node/taints.ts";

/** Gives a tainted node what its instance says, addresses first, and takes the taint away. */
export function initialize(node: Node, instance: Instance, now: Date): Decision {
  const age = ageSeconds(node, now);
  if (instance.state === "shutting-down" || instance.state === "terminated") {
    const message = `instance ${instance.id} is ${instance.state}`;
    return retry(node, { code: "InstanceEnding", message }, patience(age, 30, 600));
  }
  const desired = desiredAddresses(node, instance);
  if (desired.kind === "mismatch") {
    const because = { code: "ProvidedNodeIPMismatch", message: desired.message };
    return retryWithWarning(node, "ProvidedNodeIPMismatch", because, patience(age, 10, 300));
  }
  if (!hasIp(desired.addresses)) {
    const message = `instance ${instance.id} has neither an InternalIP nor an ExternalIP yet`;
    return retry(node, { code: "NoAddress", message }, patience(age, 1, 60));
  }
  const labels = labelChanges(node, instance);
  const addresses = addressWrite(node, desired.addresses);
  const untaint = untaintingWrite(node, instance, labels);
  return {
    kind: "change",
    object: referenceOf(node),
    because: { code: "Uninitialized", message: `initialized from instance ${instance.id}` },
    // Never the other way round: a node without the taint is used at once, and needs its addresses by then.
    writes: addresses === undefined ? [untaint] : [addresses, untaint],
    events: [{ type: "Normal", reason: "Synced", code: "Synced", message: "Node synced successfully" }],
    warnings: [...labels.warnings],
  };
}

/** The write of a node's addresses; undefined where they are the same already. */
export function addressWrite(node: Node, addresses: readonly NodeAddress[]): ClusterWrite | undefined {
  const current = node.status.addresses;
  if (isSameList(current ?? [], addresses)) return undefined;
  const path = pointer("status", "addresses");
  return nodeWrite(node, [test(path, current)], [add(path, addresses)], "status");
}

/** Leaves on the node which instance it was seen to be; deletion asks for it. Always does something. */
export function markInstance(
  node: Node,
  instance: Instance,
): { tests: TestOperation[]; operation: PatchOperation } {
  const identity = `${instance.account}/${instance.network}/${instance.id}`;
  if (node.metadata.annotations === undefined) {
    const path = pointer("metadata", "annotations");
    return { tests: [test(path, null)], operation: add(path, { [INSTANCE_ANNOTATION]: identity }) };
  }
  return { tests: [], operation: add(pointer("metadata", "annotations", INSTANCE_ANNOTATION), identity) };
}

function untaintingWrite(node: Node, instance: Instance, labels: LabelChanges): ClusterWrite {
  const mark = markInstance(node, instance);
  const parts = [labelPart(node, labels), providerIdPart(node, instance), removeUninitializedTaints(node)];
  return nodeWrite(
    node,
    [...providedNodeIpTests(node), ...mark.tests, ...parts.flatMap((part) => part.tests)],
    [mark.operation, ...parts.flatMap((part) => part.operations)],
  );
}

// The taint goes only while the kubelet's own word on its address is still the one that was checked. Where the node has no
// annotations at all, the mark's own test says so.
function providedNodeIpTests(node: Node): TestOperation[] {
  const { annotations } = node.metadata;
  if (annotations === undefined) return [];
  return [
    test(
      pointer("metadata", "annotations", PROVIDED_NODE_IP_ANNOTATION),
      annotations[PROVIDED_NODE_IP_ANNOTATION],
    ),
  ];
}

function labelPart(node: Node, { overriding, additional }: LabelChanges): PatchPart {
  if (node.metadata.labels === undefined) return addLabels(node, { ...additional, ...overriding }, false);
  const parts = [addLabels(node, overriding, false), addLabels(node, additional, true)];
  return {
    tests: parts.flatMap(({ tests }) => tests),
    operations: parts.flatMap(({ operations }) => operations),
  };
}

function providerIdPart(node: Node, instance: Instance): PatchPart {
  if (node.spec.providerID !== undefined && node.spec.providerID !== "") return { tests: [], operations: [] };
  const path = pointer("spec", "providerID");
  return { tests: [test(path, node.spec.providerID)], operations: [add(path, instance.providerID)] };
}
