import * as z from "zod";
import { TAGS_LABEL } from "#core/contracts.ts";
import type { Related, RelatedObjects } from "#core/controller.ts";
import { Node } from "#core/node/node.ts";
import { NODES } from "#core/resources/resource.ts";

const { name, uid, creationTimestamp, deletionTimestamp } = Node.shape.metadata.shape;

/** Of a node, what names its resource and says whether that was tagged; labels are left out where it has none at all. */
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

/** All nodes together are decided on. */
export const relatedNodes: Related = {
  resource: NODES,
  project,
  reads: () => "all",
  concerns: (before, after) =>
    leaves(before as Projected, after as Projected) || comes(before as Projected, after as Projected),
};

type Projected = TaggedNode | undefined;

/** A resource may be without a node. */
function leaves(before: Projected, after: Projected): boolean {
  const providerID = before?.spec.providerID;
  return providerID !== undefined && after?.spec.providerID !== providerID;
}

/** A resource waits for its tags that did not. A label that comes is ours, and the audit sees whether it is true. */
function comes(before: Projected, after: Projected): boolean {
  return waitsForTags(after) && !waitsForTags(before);
}

function waitsForTags(node: Projected): boolean {
  return node?.spec.providerID !== undefined && labelOf(node) === undefined;
}

function project(object: unknown): TaggedNode | undefined {
  const node = TaggedNode.safeParse(object).data;
  if (node?.metadata.labels === undefined) return node;
  // What a kubelet or a user keeps writing there is no part of it, or each change would cost a look.
  const label = node.metadata.labels[TAGS_LABEL];
  const labels = label === undefined ? {} : { [TAGS_LABEL]: label };
  return { ...node, metadata: { ...node.metadata, labels } };
}

/** The nodes that came with an event; undefined where none of them did, which says nothing of how many there are. */
export function nodesOf(related: RelatedObjects): readonly TaggedNode[] | undefined {
  const items = related[NODES.name]?.items;
  return items && parseNodes(items);
}

/** Returns the nodes of a list of projections, without those that are malformed. */
export function parseNodes(items: readonly unknown[]): readonly TaggedNode[] {
  return items.flatMap((item) => TaggedNode.safeParse(item).data ?? []);
}

/** What the label of a node says. */
export function labelOf({ metadata: { labels = {} } }: TaggedNode): string | undefined {
  return labels[TAGS_LABEL];
}
