import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import type { Decision } from "#core/decision.ts";
import { applyWrites, type Difference } from "#core/handover-check/compare.ts";
import type { Node } from "#core/node/node.ts";
import { hasShutdownTaint } from "#core/node/taints.ts";

/**
 * Returns the instance annotation that our initialization of a node would write; undefined if the decision
 * writes none.
 */
export function getWrittenIdentity(before: Node, decision: Decision): string | undefined {
  if (decision.kind !== "change") return undefined;
  return applyWrites(before, decision.writes).metadata.annotations?.[INSTANCE_ANNOTATION];
}

/** Returns a node as if we had initialized it: deletion is only decided for such nodes. */
export function withIdentity(node: Node, identity: string | undefined): Node {
  if (identity === undefined) return node;
  const annotations = { ...node.metadata.annotations, [INSTANCE_ANNOTATION]: identity };
  return { ...node, metadata: { ...node.metadata, annotations } };
}

/** Returns whether a decision deletes its object. */
export function isDeletion(decision: Decision): boolean {
  return (
    decision.kind === "change" &&
    decision.writes.some((write) => write.on === "cluster" && write.verb === "delete")
  );
}

/** Returns what the other controller did not do, or did differently, on an existing node. */
export function compareLifecycle(node: Node, decision: Decision): readonly Difference[] {
  if (decision.kind !== "change") return [];
  const about = { node: node.metadata.name, ours: decision.because.message };
  if (isDeletion(decision)) return [{ code: "DeletedByUsAlone", ...about, theirs: "the node is there" }];
  const [is, wanted] = [node, applyWrites(node, decision.writes)].map(hasShutdownTaint);
  if (is === wanted) return [];
  return [
    wanted
      ? { code: "ShutdownTaintMissing", ...about, theirs: "no shutdown taint" }
      : { code: "ShutdownTaintExtra", ...about, theirs: "a shutdown taint" },
  ];
}

/** Returns the difference for a deleted node that we did not decide to delete. */
export function compareDeletion(node: Node, { because }: Decision): Difference {
  return {
    code: "DeletedByThemAlone",
    node: node.metadata.name,
    ours: `${because.code}: ${because.message}`,
    theirs: "the node was deleted",
  };
}
