import { UNINITIALIZED_TAINT } from "#core/contracts.ts";
import type { Node } from "#core/node/node.ts";
import { type PatchPart, pointer, test } from "#core/node/patch.ts";

/** Whether the node waits for initialization; the key alone counts. */
export function isUninitialized(node: Node): boolean {
  return uninitializedIndexes(node).length > 0;
}

/** Removes every uninitialized taint by its index, highest first, so that those of others keep theirs and their order. */
export function removeUninitializedTaints(node: Node): PatchPart {
  const indexes = uninitializedIndexes(node).reverse();
  return {
    tests: indexes.map((index) => test(pointer("spec", "taints", index, "key"), UNINITIALIZED_TAINT)),
    operations: indexes.map((index) => ({ op: "remove", path: pointer("spec", "taints", index) })),
  };
}

function uninitializedIndexes(node: Node): number[] {
  return (node.spec.taints ?? []).flatMap((taint, index) =>
    taint.key === UNINITIALIZED_TAINT ? [index] : [],
  );
}
