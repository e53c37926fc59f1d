import type { Cidr } from "#core/cidr.ts";
import type { DecisionContext } from "#core/controller.ts";
import { nodesIn, parseNodes, type RouteNode } from "#core/route/related-node.ts";
import { wantedRoutes } from "#core/route/wanted.ts";

/** What shows that the nodes of an event are the cluster's, before a route is taken away from an instance that may be a node. */
export interface NodeProof {
  /** Whether the API server counts as many nodes as the event brings; what is no node, or one twice, is not counted. */
  readonly isComplete: boolean;
  /** Whether no node has the network, by a list that was made for this decision. */
  isUnclaimed(cidr: string): boolean;
  /** Whether that list has the same node with the same instance and the same network. */
  isClaimedBy(cidr: string, node: RouteNode): boolean;
  /** What is missing of a proof, for people. */
  readonly gap: string;
}

/** Everything is as the event has it: by this a plan shows which proof it takes. */
export const ASSUMED: NodeProof = {
  isComplete: true,
  isUnclaimed: () => true,
  isClaimedBy: () => true,
  gap: "",
};

/** Compares the nodes of an event with what the API server counted and listed for this decision. */
export function proveNodes(
  { related, count, listed }: Pick<DecisionContext, "related" | "count" | "listed">,
  networks: readonly Cidr[],
): NodeProof {
  const brought = new Set(nodesIn(related)?.map(({ uid }) => uid)).size;
  const isComplete = count?.kind === "count" && count.count === brought;
  const gap = describeGap({ count, listed }, brought);
  if (listed?.kind !== "list") return { isComplete, isUnclaimed: () => false, isClaimedBy: () => false, gap };
  const nodes = parseNodes(listed.items);
  const { claims } = wantedRoutes(nodes, networks);
  const byName = new Map(nodes.map((node) => [node.name, node]));
  return {
    isComplete,
    gap,
    isUnclaimed: (cidr) => !claims.has(cidr),
    isClaimedBy(cidr, { name, uid, providerID }) {
      const fresh = byName.get(name);
      const isSame = fresh?.uid === uid && fresh.providerID === providerID;
      return isSame && claims.get(cidr)?.includes(name) === true;
    },
  };
}

function describeGap({ count, listed }: Pick<DecisionContext, "count" | "listed">, brought: number): string {
  if (count?.kind === "unknown") return `the nodes cannot be counted: ${count.message}`;
  if (listed?.kind === "unknown") return `the nodes cannot be listed: ${listed.message}`;
  if (count !== undefined && count.count !== brought)
    return `the API server counts ${count.count} nodes, and the event brings ${brought}`;
  return "the API server lists other nodes than the event brings";
}
