import { CLUSTER } from "#core/cluster-object.ts";
import type { DecisionContext, Related, StateReference } from "#core/controller.ts";
import { NODES } from "#core/resources/resource.ts";
import type { TargetNode } from "#core/service/model.ts";
import { relatedNodes } from "#core/service/target-nodes.ts";

/** A node as it is listed for a proof: whether load balancers may send to it, and what they know of it then. */
interface ListedNode {
  readonly target: TargetNode | undefined;
}

/** What is read before a load balancer loses targets: every node, and how many there are. */
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

/** Nodes that load balancers may send to, by a complete list of the API server's; or what such a list lacks. */
export type ListedNodes =
  | { readonly kind: "nodes"; readonly nodes: readonly TargetNode[] }
  | { readonly kind: "unproven"; readonly message: string };

/** Returns the nodes that were listed for this decision, if the API server counts as many. */
export function readListedNodes({ listed, count }: Pick<DecisionContext, "listed" | "count">): ListedNodes {
  if (listed?.kind !== "list")
    return unproven(`the nodes cannot be listed: ${listed?.message ?? "nobody has asked for them yet"}`);
  if (count?.kind !== "count")
    return unproven(`the nodes cannot be counted: ${count?.message ?? "nobody has asked for that yet"}`);
  if (count.count !== listed.items.length)
    return unproven(`the API server lists ${listed.items.length} nodes, and counts ${count.count}`);
  const nodes = (listed.items as readonly ListedNode[]).flatMap(({ target }) => target ?? []);
  return { kind: "nodes", nodes };
}

function unproven(message: string): ListedNodes {
  return { kind: "unproven", message };
}
