import type { Cidr } from "#core/cidr.ts";
import type { DecisionContext } from "#core/controller.ts";
import type { CloudAction, Write } from "#core/decision.ts";
import type { Reason } from "#core/reason.ts";
import {
  collectDesiredRoutes,
  parseNodes,
  type RouteNode,
  selectRouteNodes,
} from "#core/route/related-node.ts";
import type { RouteActionName } from "#core/route/state.ts";

/** The writes tried since the cloud was observed, by `formatWriteKey`. */
export interface Pass {
  readonly done: ReadonlySet<string>;
  readonly failed: ReadonlyMap<string, Reason>;
}

/** A pass without writes. */
export const NO_PASS: Pass = { done: new Set(), failed: new Map() };

/** Returns the key of a write, unique in a pass. */
export function formatWriteKey(write: Write): string {
  return write.on === "cloud" ? formatActionKey(write.action, write.target) : formatConditionKey(write.name);
}

/** Returns the key of an action from its name and target. */
export function formatActionKey(action: CloudAction["action"] | RouteActionName, target: string): string {
  return `${action} ${target}`;
}

/** Returns the key of the patch of a node's condition. */
export function formatConditionKey(node: string): string {
  return `condition ${node}`;
}

/** Returns whether the pass deleted a route. */
export function hasDeleted({ done }: Pass): boolean {
  const prefix = formatActionKey("delete", "");
  return [...done].some((key) => key.startsWith(prefix));
}

/** Returns the action target of a route. */
export function formatRouteTarget(table: string, cidr: string): string {
  return `${table} ${cidr}`;
}

/** Returns a description, for people, of the pass and of its next writes. */
export function describePass({ done }: Pass, writes: readonly Write[]): string {
  const keys = [...done, ...writes.map(formatWriteKey)].map(
    (key) => key.split(" ", 1)[0] as keyof typeof WORDS,
  );
  const counts = Map.groupBy(keys, (key) => key);
  return Object.entries(WORDS)
    .flatMap(([key, words]) => {
      const count = counts.get(key as keyof typeof WORDS)?.length ?? 0;
      return count === 0 ? [] : [`${count} ${words}`];
    })
    .join(", ");
}

const WORDS = {
  create: "routes created",
  replace: "routes replaced",
  delete: "routes deleted",
  forward: "machines made to forward",
  condition: "conditions written",
} as const;

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
