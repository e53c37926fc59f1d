import * as z from "zod";
import { CLUSTER } from "#core/cluster-object.ts";
import { EXCLUDE_FROM_LOAD_BALANCERS_LABEL, TO_BE_DELETED_TAINT } from "#core/contracts.ts";
import type { DecisionContext, RelatedObjects, StateReference } from "#core/controller.ts";
import { parseGoBoolean } from "#core/flags.ts";
import { Node } from "#core/node/node.ts";
import { NODES } from "#core/resources/resource.ts";
import { getClaimTime } from "#core/service/claims.ts";
import type { TargetNode } from "#core/service/model.ts";
import { isLoadBalancerService } from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";
import { hashLabels, type StateAnnotation } from "#core/service/state-annotation.ts";
import type { Related } from "#core/watch.ts";

/** The fields of a node that load balancers use; other changes of nodes wake no Service. */
const Projection = z.object({
  name: z.string().min(1),
  providerID: z.string().min(1).optional(),
  labels: z.string().optional(),
});

const { name, labels, deletionTimestamp } = Node.shape.metadata.shape;

const Judged = z.object({
  metadata: z.object({ name, labels, deletionTimestamp }),
  spec: z
    .object({
      providerID: z.string().optional(),
      taints: z.array(z.object({ key: z.string() })).optional(),
    })
    .prefault({}),
});

/** The nodes that load balancers may send to, read by Services with a load balancer. */
export const relatedNodes: Related<Service> = {
  resource: NODES,
  project(object) {
    const node = Judged.safeParse(object).data;
    if (node === undefined || !isEligible(node)) return undefined;
    const { providerID } = node.spec;
    const marks = hashLabels(node.metadata.labels ?? {});
    return {
      name: node.metadata.name,
      ...(providerID ? { providerID } : {}),
      ...(marks === "" ? {} : { labels: marks }),
    } satisfies TargetNode;
  },
  reads: (service) => (isLoadBalancerService(service) ? "all" : []),
};

/** The node list of an event. */
export interface TargetNodes {
  readonly resourceVersion: string;
  /** Sorted by name. */
  readonly nodes: readonly TargetNode[];
}

/**
 * Returns the nodes of an event. Undefined when the event came without them, which says nothing about nodes.
 */
export function selectTargetNodes(related: RelatedObjects): TargetNodes | undefined {
  const list = related[NODES.name];
  if (list === undefined) return undefined;
  const cached = targetNodesByList.get(list.items);
  if (cached !== undefined) return cached;
  const nodes = list.items.flatMap((item) => Projection.safeParse(item).data ?? []);
  const sorted = nodes.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const targets = { resourceVersion: list.resourceVersion, nodes: sorted };
  targetNodesByList.set(list.items, targets);
  return targets;
}

/** All Services of an event share one list. */
const targetNodesByList = new WeakMap<readonly unknown[], TargetNodes>();

/** As in the stock controller, readiness and the uninitialized taint do not matter. */
function isEligible({ metadata, spec }: z.output<typeof Judged>): boolean {
  return (
    metadata.deletionTimestamp === undefined &&
    !isExcluded(metadata.labels?.[EXCLUDE_FROM_LOAD_BALANCERS_LABEL]) &&
    spec.taints?.some(({ key }) => key === TO_BE_DELETED_TAINT) !== true
  );
}

/** A value that Go parses as false includes the node; any other value, also an empty one, excludes it. */
function isExcluded(label: string | undefined): boolean {
  return label !== undefined && parseGoBoolean(label) !== false;
}

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
    // A node that cannot be read is left out, so the list is incomplete: it may be eligible.
    project: (node): ListedNode | undefined =>
      Judged.safeParse(node).success
        ? { target: relatedNodes.project(node) as TargetNode | undefined }
        : undefined,
  } satisfies Pick<Related, "resource" | "project">,
};

/**
 * The nodes that load balancers may send to, from a complete list of the API server; or the reason why the
 * list is incomplete.
 */
type ListedNodes =
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

/** How long an older list of nodes is rejected, in milliseconds: two actors' lists are assumed to differ by less. */
const MAX_LAG_MS = 60_000;

/**
 * Returns whether the list of nodes is older than the one applied last. Returns false after one minute, because a
 * restored API server has lower versions, and a forged version must not block the Service.
 */
export function isOlderThanApplied(
  { resourceVersion }: TargetNodes,
  annotation: StateAnnotation,
  now: Date,
): boolean {
  const sinceMs = now.getTime() - Math.max(Date.parse(annotation.at), getClaimTime(annotation) ?? 0);
  if (sinceMs < -MAX_LAG_MS || sinceMs > MAX_LAG_MS) return false;
  return isOlderVersion(resourceVersion, annotation.nodes);
}

/** Returns whether one resourceVersion of nodes is older than another; false if they cannot be compared. */
export function isOlderVersion(one: string | undefined, other: string): boolean {
  return isNumber(one) && isNumber(other) && BigInt(one) < BigInt(other);
}

function isNumber(version: string | undefined): version is string {
  return version !== undefined && /^\d{1,20}$/.test(version);
}
