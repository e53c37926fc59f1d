import { SHUTDOWN_TAINT, UNINITIALIZED_TAINT } from "#core/contracts.ts";
import { add, type Edit, formatPointer, NO_EDIT, remove, test } from "#core/json-patch.ts";
import type { Node, Taint } from "#core/node/node.ts";

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

/** Returns whether the node has the shutdown taint, matched by key and effect, whatever its value. */
export function hasShutdownTaint({ spec }: Node): boolean {
  return spec.taints?.some(isShutdownTaint) ?? false;
}

/**
 * Adds the shutdown taint and keeps the rest of the list. Two concurrent additions would write the taint
 * twice, which Kubernetes rejects permanently: so the node must be unchanged.
 */
export function addShutdownTaint(node: Node): Edit {
  if (hasShutdownTaint(node)) return NO_EDIT;
  const path = formatPointer("spec", "taints");
  const isListed = (node.spec.taints ?? []).length > 0;
  return {
    tests: [test(formatPointer("metadata", "resourceVersion"), node.metadata.resourceVersion)],
    operations: [isListed ? add(`${path}/-`, SHUTDOWN_TAINT) : add(path, [SHUTDOWN_TAINT])],
  };
}

/** Removes the shutdown taint: by index, each guarded by key and effect, the highest index first. */
export function removeShutdownTaint(node: Node): Edit {
  const indexes = (node.spec.taints ?? [])
    .map((taint, index) => ({ taint, index }))
    .filter(({ taint }) => isShutdownTaint(taint))
    .map(({ index }) => index)
    .reverse();
  return {
    tests: indexes.flatMap((index) => [
      test(formatPointer("spec", "taints", index, "key"), SHUTDOWN_TAINT.key),
      test(formatPointer("spec", "taints", index, "effect"), SHUTDOWN_TAINT.effect),
    ]),
    operations: indexes.map((index) => remove(formatPointer("spec", "taints", index))),
  };
}

function isShutdownTaint({ key, effect }: Taint): boolean {
  return key === SHUTDOWN_TAINT.key && effect === SHUTDOWN_TAINT.effect;
}
