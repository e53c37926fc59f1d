import type { Cidr } from "#core/cidr.ts";
import type { DecisionContext } from "#core/controller.ts";
import { collectDesiredRoutes } from "#core/route/desired-routes.ts";
import { parseNodes, type RouteNode, selectRouteNodes } from "#core/route/related-node.ts";

/**
 * The proof that an event's nodes are the cluster's, needed before a route is taken from an instance that may
 * be a node.
 */
export interface NodeProof {
  /** Whether the API server's count equals the event's nodes; invalid and duplicate nodes are not counted. */
  readonly isComplete: boolean;
  /** Returns whether no node has the network, in a list made for this decision. */
  isUnclaimed(cidr: string): boolean;
  /** Returns whether that list has this node with its instance and network unchanged. */
  isClaimedBy(cidr: string, node: RouteNode): boolean;
  /** What the proof lacks, for people. */
  readonly gap: string;
}

/** A proof that accepts the event as it is: with it, a plan shows which proof it needs. */
export const ASSUMED_PROOF: NodeProof = {
  isComplete: true,
  isUnclaimed: () => true,
  isClaimedBy: () => true,
  gap: "",
};

/** Compares the nodes of an event with the API server's count and list for this decision. */
export function proveNodes(
  { related, count, listed }: Pick<DecisionContext, "related" | "count" | "listed">,
  networks: readonly Cidr[],
): NodeProof {
  const brought = new Set(selectRouteNodes(related)?.map(({ uid }) => uid)).size;
  const isComplete = count?.kind === "count" && count.count === brought;
  const gap = describeGap({ count, listed }, brought);
  if (listed?.kind !== "list") return { isComplete, isUnclaimed: () => false, isClaimedBy: () => false, gap };
  const nodes = parseNodes(listed.items);
  const { claims } = collectDesiredRoutes(nodes, networks);
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
