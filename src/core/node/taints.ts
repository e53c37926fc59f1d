import { UNINITIALIZED_TAINT } from "#core/contracts.ts";
import { type Edit, formatPointer, remove, test } from "#core/json-patch.ts";
import type { Node } from "#core/node/node.ts";

/** The fields of a node that contain its taints. */
interface NodeTaints {
  readonly spec: { readonly taints?: readonly { readonly key: string }[] | undefined };
}

/**
 * Returns whether the node still has the taint of a kubelet that waits for its cloud, whatever the taint's
 * value or effect.
 */
export function isUninitialized({ spec }: NodeTaints): boolean {
  return spec.taints?.some(({ key }) => key === UNINITIALIZED_TAINT) ?? false;
}

/**
 * Removes every taint with the uninitialized key. It removes by index, each guarded by its key and the
 * highest first. So the list is never replaced, and a concurrently added taint survives.
 */
export function removeUninitialized(node: Node): Edit {
  const taints = node.spec.taints?.map(({ key }, index) => ({ key, index })) ?? [];
  const indexes = taints
    .filter(({ key }) => key === UNINITIALIZED_TAINT)
    .map(({ index }) => index)
    .reverse();
  return {
    tests: indexes.map((index) => test(formatPointer("spec", "taints", index, "key"), UNINITIALIZED_TAINT)),
    operations: indexes.map((index) => remove(formatPointer("spec", "taints", index))),
  };
}
