import { SHUTDOWN_TAINT } from "#core/contracts.ts";
import { add, type Edit, NO_EDIT, pointer, remove, test } from "#core/json-patch.ts";
import type { Node, Taint } from "#core/node/node.ts";

/** Whether the node is marked as stopped: by key and effect, whatever the taint's value. */
export function hasShutdownTaint({ spec }: Node): boolean {
  return spec.taints?.some(isShutdownTaint) ?? false;
}

/**
 * Marks the node as stopped. What else is in the list stays. Two that mark it at once would put the same taint there twice, which
 * Kubernetes refuses for good: so the node must be as it was read.
 */
export function addShutdownTaint(node: Node): Edit {
  if (hasShutdownTaint(node)) return NO_EDIT;
  const path = pointer("spec", "taints");
  const isListed = (node.spec.taints ?? []).length > 0;
  return {
    tests: [test(pointer("metadata", "resourceVersion"), node.metadata.resourceVersion)],
    operations: [isListed ? add(`${path}/-`, SHUTDOWN_TAINT) : add(path, [SHUTDOWN_TAINT])],
  };
}

/** Takes the mark away: by index, each guarded by key and effect, the highest first. */
export function removeShutdownTaint(node: Node): Edit {
  const indexes = (node.spec.taints ?? [])
    .map((taint, index) => ({ taint, index }))
    .filter(({ taint }) => isShutdownTaint(taint))
    .map(({ index }) => index)
    .reverse();
  return {
    tests: indexes.flatMap((index) => [
      test(pointer("spec", "taints", index, "key"), SHUTDOWN_TAINT.key),
      test(pointer("spec", "taints", index, "effect"), SHUTDOWN_TAINT.effect),
    ]),
    operations: indexes.map((index) => remove(pointer("spec", "taints", index))),
  };
}

function isShutdownTaint({ key, effect }: Taint): boolean {
  return key === SHUTDOWN_TAINT.key && effect === SHUTDOWN_TAINT.effect;
}
