import * as z from "zod";
import { EXCLUDE_FROM_LOAD_BALANCERS_LABEL, TO_BE_DELETED_TAINT } from "#core/contracts.ts";
import type { Related, RelatedObjects } from "#core/controller.ts";
import { goBoolean } from "#core/go-boolean.ts";
import { Node } from "#core/node/node.ts";
import { NODES } from "#core/resources/resource.ts";
import { labelMarks } from "#core/service/label-marks.ts";
import type { TargetNode } from "#core/service/model.ts";
import { asksForLoadBalancer } from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";

/** A node as far as load balancers send to it; what else is written on nodes wakes no Service. */
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

/** The nodes that Services with a load balancer read: those that it may send to. */
export const relatedNodes: Related<Service> = {
  resource: NODES,
  project(object) {
    const node = Judged.safeParse(object).data;
    if (node === undefined || !isEligible(node)) return undefined;
    const { providerID } = node.spec;
    const marks = labelMarks(node.metadata.labels ?? {});
    return {
      name: node.metadata.name,
      ...(providerID ? { providerID } : {}),
      ...(marks === "" ? {} : { labels: marks }),
    } satisfies TargetNode;
  },
  reads: (service) => (asksForLoadBalancer(service) ? "all" : []),
};

/** The list of nodes that an event came with. */
export interface TargetNodes {
  readonly resourceVersion: string;
  /** Sorted by name. */
  readonly nodes: readonly TargetNode[];
}

/** The nodes of an event; undefined where it came without them, which says nothing about nodes. */
export function targetNodesOf(related: RelatedObjects): TargetNodes | undefined {
  const list = related[NODES.name];
  if (list === undefined) return undefined;
  const before = known.get(list.items);
  if (before !== undefined) return before;
  const nodes = list.items.flatMap((item) => Projection.safeParse(item).data ?? []);
  const sorted = nodes.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const targets = { resourceVersion: list.resourceVersion, nodes: sorted };
  known.set(list.items, targets);
  return targets;
}

/** All Services of an event share one list. */
const known = new WeakMap<readonly unknown[], TargetNodes>();

/** As in the stock controller: neither readiness nor the uninitialized taint matters. */
function isEligible({ metadata, spec }: z.output<typeof Judged>): boolean {
  return (
    metadata.deletionTimestamp === undefined &&
    !isExcluded(metadata.labels?.[EXCLUDE_FROM_LOAD_BALANCERS_LABEL]) &&
    spec.taints?.some(({ key }) => key === TO_BE_DELETED_TAINT) !== true
  );
}

/** What Go reads as false includes the node; all else, and nothing at all, excludes it. */
function isExcluded(label: string | undefined): boolean {
  return label !== undefined && goBoolean(label) !== false;
}
