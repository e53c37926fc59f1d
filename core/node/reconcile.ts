import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import type { ClusterWrite, Decision } from "#core/decision.ts";
import type { EventReason } from "#core/event.ts";
import type { Instance, InstanceAnswer } from "#core/instance.ts";
import { desiredAddresses } from "#core/node/addresses.ts";
import { decideWithoutInstance } from "#core/node/answer.ts";
import { addressWrite, markInstance } from "#core/node/initialize.ts";
import { reconciledLabels } from "#core/node/labels.ts";
import type { Node } from "#core/node/node.ts";
import { referenceOf, skip, upToDate } from "#core/node/outcome.ts";
import { add, nodeWriteOf, type PatchPart, pointer, test } from "#core/node/patch.ts";

/** Whether an initialized node is compared with the cloud for this reason; otherwise its labels alone are looked at. */
export function comparesWithCloud(reason: EventReason): boolean {
  return reason === "refresh" || reason === "sweep" || reason === "replay";
}

/** Makes a node's stable labels agree with its beta ones; asks nothing of the cloud. */
export function reconcileLabels(node: Node): Decision {
  return changeOf(node, [nodeWriteOf(node, [labelPart(node)])], "labels follow their beta form");
}

/** Makes an initialized node agree with its instance: addresses, labels, and the mark of which instance it is. */
export function refresh(node: Node, answer: InstanceAnswer | undefined, now: Date): Decision {
  if (answer?.kind === "not-found") return skip(node, { code: "InstanceNotFound", message: answer.message });
  if (answer?.kind !== "found") return decideWithoutInstance(node, answer, now);
  const { instance } = answer;
  const desired = desiredAddresses(node, instance);
  if (desired.kind === "mismatch")
    return skip(node, { code: "ProvidedNodeIPMismatch", message: desired.message });
  const writes = [
    addressWrite(node, desired.addresses),
    nodeWriteOf(node, [labelPart(node), markPart(node, instance)]),
  ];
  return changeOf(node, writes, `brought in line with instance ${instance.id}`);
}

function labelPart(node: Node): PatchPart {
  const labels = reconciledLabels(node);
  return {
    tests: labels.map(({ pair, value }) => test(pointer("metadata", "labels", pair.beta), value)),
    operations: labels.map(({ pair, value }) => add(pointer("metadata", "labels", pair.stable), value)),
  };
}

// A node that was initialized by another controller bears no mark yet; one that bears another's is not touched.
function markPart(node: Node, instance: Instance): PatchPart {
  if (node.metadata.annotations?.[INSTANCE_ANNOTATION] !== undefined) return { tests: [], operations: [] };
  const { tests, operation } = markInstance(node, instance);
  return { tests, operations: [operation] };
}

function changeOf(node: Node, possible: readonly (ClusterWrite | undefined)[], message: string): Decision {
  const [first, ...others] = possible.filter((write) => write !== undefined);
  if (first === undefined) return upToDate(node);
  return {
    kind: "change",
    object: referenceOf(node),
    because: { code: "Drift", message },
    writes: [first, ...others],
    events: [],
    warnings: [],
  };
}
