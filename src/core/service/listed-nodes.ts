import { CLUSTER } from "#core/cluster-object.ts";
import type { DecisionContext, Related, StateReference } from "#core/controller.ts";
import { NODES } from "#core/resources/resource.ts";
import type { TargetNode } from "#core/service/model.ts";
import { relatedNodes } from "#core/service/target-nodes.ts";

/** A node of a list that serves as proof: its eligibility, and the fields that load balancers read. */
interface ListedNode {
  readonly target: TargetNode | undefined;
}

/** The list that is read before a load balancer loses targets: every node, and the number of nodes. */
export const NODES_FOR_PROOF: StateReference = {
  apiVersion: CLUSTER.resource.apiVersion,
  name: CLUSTER.resource.name,
  at: CLUSTER.only,
  counted: NODES,
  listed: {
    resource: NODES,
    project: (node): ListedNode => ({ target: relatedNodes.project(node) as TargetNode | undefined }),
  } satisfies Pick<Related, "resource" | "project">,
};

/**
 * The nodes that load balancers may send to, from a complete list of the API server; or the reason why the
 * list is incomplete.
 */
export type ListedNodes =
  | { readonly kind: "nodes"; readonly nodes: readonly TargetNode[] }
  | { readonly kind: "unproven"; readonly message: string };

/** Returns the nodes listed for this decision, if their number equals the API server's count. */
export function readListedNodes({ listed, count }: Pick<DecisionContext, "listed" | "count">): ListedNodes {
  if (listed?.kind !== "list")
    return createUnproven(`the nodes cannot be listed: ${listed?.message ?? "no list was requested yet"}`);
  if (count?.kind !== "count")
    return createUnproven(`the nodes cannot be counted: ${count?.message ?? "no count was requested yet"}`);
  if (count.count !== listed.items.length)
    return createUnproven(`the API server lists ${listed.items.length} nodes, and counts ${count.count}`);
  const nodes = (listed.items as readonly ListedNode[]).flatMap(({ target }) => target ?? []);
  return { kind: "nodes", nodes };
}

function createUnproven(message: string): ListedNodes {
  return { kind: "unproven", message };
}
