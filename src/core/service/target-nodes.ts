import * as z from "zod";
import { EXCLUDE_FROM_LOAD_BALANCERS_LABEL, TO_BE_DELETED_TAINT } from "#core/contracts.ts";
import type { Related, RelatedObjects } from "#core/controller.ts";
import { parseGoBoolean } from "#core/go-boolean.ts";
import { Node } from "#core/node/node.ts";
import { NODES } from "#core/resources/resource.ts";
import type { TargetNode } from "#core/service/model.ts";
import { isLoadBalancerService } from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";
import { hashLabels } from "#core/service/state-annotation.ts";

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
