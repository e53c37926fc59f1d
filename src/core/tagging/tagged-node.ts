import * as z from "zod";
import { TAGS_LABEL } from "#core/contracts.ts";
import type { RelatedObjects } from "#core/controller.ts";
import { Node } from "#core/node/node.ts";
import { NODES } from "#core/resources/resource.ts";
import type { Related } from "#core/watch.ts";

const { name, uid, creationTimestamp, deletionTimestamp } = Node.shape.metadata.shape;

/**
 * The fields of a node that name its resource and record whether it was tagged; `labels` is absent if the
 * node has none.
 */
export const TaggedNode = z.object({
  metadata: z.object({
    name,
    uid,
    creationTimestamp,
    deletionTimestamp,
    labels: z.record(z.string(), z.string()).optional(),
  }),
  spec: z.object({ providerID: z.string().optional() }).prefault({}),
});
export type TaggedNode = z.output<typeof TaggedNode>;

/** All nodes, which are decided together. */
export const relatedNodes: Related = {
  resource: NODES,
  project,
  reads: () => "all",
  concerns: (before, after) =>
    isLosingResource(before as ProjectedNode, after as ProjectedNode) ||
    isWaitingForTags(before as ProjectedNode, after as ProjectedNode),
};

type ProjectedNode = TaggedNode | undefined;

/** The change may leave a resource without a node. */
function isLosingResource(before: ProjectedNode, after: ProjectedNode): boolean {
  const providerID = before?.spec.providerID;
  return providerID !== undefined && after?.spec.providerID !== providerID;
}

/**
 * A resource begins to wait for its tags. A new label is ours, and the audit checks whether it is correct.
 */
function isWaitingForTags(before: ProjectedNode, after: ProjectedNode): boolean {
  return needsTags(after) && !needsTags(before);
}

function needsTags(node: ProjectedNode): boolean {
  return node?.spec.providerID !== undefined && getTagsLabel(node) === undefined;
}

function project(object: unknown): TaggedNode | undefined {
  const node = TaggedNode.safeParse(object).data;
  if (node?.metadata.labels === undefined) return node;
  // Frequent writes of a kubelet or a user are not included, because each would cause a check.
  const label = node.metadata.labels[TAGS_LABEL];
  const labels = label === undefined ? {} : { [TAGS_LABEL]: label };
  return { ...node, metadata: { ...node.metadata, labels } };
}

/**
 * Returns the nodes of an event; undefined when it came without them, which says nothing about their number.
 */
export function selectTaggedNodes(related: RelatedObjects): readonly TaggedNode[] | undefined {
  const items = related[NODES.name]?.items;
  return items && parseNodes(items);
}

/** Returns the valid nodes of a list of projections. */
export function parseNodes(items: readonly unknown[]): readonly TaggedNode[] {
  return items.flatMap((item) => TaggedNode.safeParse(item).data ?? []);
}

/** Returns the value of a node's tags label. */
export function getTagsLabel({ metadata: { labels = {} } }: TaggedNode): string | undefined {
  return labels[TAGS_LABEL];
}
