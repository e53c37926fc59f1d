import { UNINITIALIZED_TAINT } from "#core/contracts.ts";
import { type Edit, pointer, remove, test } from "#core/json-patch.ts";
import type { Node } from "#core/node/node.ts";

/** As much of a node as tells. */
interface Tainted {
  readonly spec: { readonly taints?: readonly { readonly key: string }[] | undefined };
}

/** Whether the node still carries the taint of a kubelet that waits for its cloud, whatever the taint's value or effect. */
export function isUninitialized({ spec }: Tainted): boolean {
  return spec.taints?.some(({ key }) => key === UNINITIALIZED_TAINT) ?? false;
}

/**
 * Takes away every taint with the uninitialized key. By index, each guarded by its key and the highest first, so that
 * the list is never replaced and a taint that somebody adds meanwhile survives.
 */
export function removeUninitialized(node: Node): Edit {
  const taints = node.spec.taints?.map(({ key }, index) => ({ key, index })) ?? [];
  const indexes = taints
    .filter(({ key }) => key === UNINITIALIZED_TAINT)
    .map(({ index }) => index)
    .reverse();
  return {
    tests: indexes.map((index) => test(pointer("spec", "taints", index, "key"), UNINITIALIZED_TAINT)),
    operations: indexes.map((index) => remove(pointer("spec", "taints", index))),
  };
}
