import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import type { Decision } from "#core/decision.ts";
import type { Node } from "#core/node/node.ts";
import { hasShutdownTaint } from "#core/node-lifecycle/shutdown-taint.ts";
import { afterWrites } from "#core/shadow/compare.ts";
import type { Difference } from "#core/shadow/difference.ts";

/** The instance that we would have written on a node when we initialized it; undefined where the decision writes none. */
export function identityIn(before: Node, decision: Decision): string | undefined {
  if (decision.kind !== "change") return undefined;
  return afterWrites(before, decision.writes).metadata.annotations?.[INSTANCE_ANNOTATION];
}

/** A node as it would be had we initialized it: only of such a node is it decided whether it is deleted. */
export function withIdentity(node: Node, identity: string | undefined): Node {
  if (identity === undefined) return node;
  const annotations = { ...node.metadata.annotations, [INSTANCE_ANNOTATION]: identity };
  return { ...node, metadata: { ...node.metadata, annotations } };
}

/** Whether a decision deletes its object. */
export function isDeletion(decision: Decision): boolean {
  return (
    decision.kind === "change" &&
    decision.writes.some((write) => write.on === "cluster" && write.verb === "delete")
  );
}

/** What the other controller has left undone, or done otherwise, on a node that is there. */
export function compareLifecycle(node: Node, decision: Decision): readonly Difference[] {
  if (decision.kind !== "change") return [];
  const about = { node: node.metadata.name, ours: decision.because.message };
  if (isDeletion(decision)) return [{ code: "DeletedByUsAlone", ...about, theirs: "the node is there" }];
  const [is, wanted] = [node, afterWrites(node, decision.writes)].map(hasShutdownTaint);
  if (is === wanted) return [];
  return [
    wanted
      ? { code: "ShutdownTaintMissing", ...about, theirs: "no shutdown taint" }
      : { code: "ShutdownTaintExtra", ...about, theirs: "a shutdown taint" },
  ];
}

/** What there is to say of a node that was deleted and that we have not decided to delete. */
export function deletedByThemAlone(node: Node, { because }: Decision): Difference {
  return {
    code: "DeletedByThemAlone",
    node: node.metadata.name,
    ours: `${because.code}: ${because.message}`,
    theirs: "the node was deleted",
  };
}
