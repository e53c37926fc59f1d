import type { AskContext } from "#core/controller.ts";
import type { EventReason } from "#core/event.ts";
import type { Reason } from "#core/reason.ts";
import type { TaggingModel, Tags, TagsQuestion } from "#core/tagging/model.ts";
import { getTagsLabel, selectTaggedNodes, type TaggedNode } from "#core/tagging/tagged-node.ts";

/** The phase of a cluster's tags by its nodes, before the cloud is asked. */
export type TaggingPhase =
  /** There is no work, for this reason. */
  | { readonly kind: "idle"; readonly because: Reason }
  | {
      readonly kind: "asking";
      readonly model: TaggingModel;
      /** The event's nodes. */
      readonly nodes: readonly TaggedNode[];
      /** The desired tags of resources, the mark included. */
      readonly desired: Tags;
      /** The value of the node label that records the desired tags. */
      readonly checksum: string;
      /** The nodes whose resources are checked, by resource ID; several may name one. */
      readonly checkedNodes: ReadonlyMap<string, readonly TaggedNode[]>;
      /** The IDs of the resources that have a node. */
      readonly resourcesWithNode: ReadonlySet<string>;
      readonly question: TagsQuestion;
    };

/** Returns the phase of a cluster; `model` is its cloud's. */
export function decidePhase(model: TaggingModel | undefined, context: AskContext): TaggingPhase {
  const { related, settings, reason } = context;
  const { cloud, tagging } = settings;
  if (model === undefined)
    return createIdlePhase(
      "NotSupported",
      `tags of the cloud "${cloud.provider}" are not part of this version`,
    );
  if (tagging.resources.length === 0 || Object.keys(tagging.tags).length === 0)
    return createIdlePhase(
      "NoTags",
      "tagging.tags or tagging.resources is empty: what was tagged stays as it is",
    );
  const nodes = selectTaggedNodes(related);
  if (nodes === undefined) return createIdlePhase("NoNodes", "nothing is known of the cluster's nodes");
  const checksum = model.checksum(tagging.tags);
  const nodesByResource = groupByResource(nodes, model);
  const stale = [...nodesByResource].filter(([, of]) => of.some((node) => isStale(node, checksum)));
  const isAudit = AUDITS[reason];
  const checkedNodes = isAudit ? nodesByResource : new Map(stale);
  return {
    kind: "asking",
    model,
    nodes,
    desired: model.marked(tagging.tags, settings),
    checksum,
    checkedNodes,
    resourcesWithNode: new Set(nodesByResource.keys()),
    // Resources without a node have no label; only the mark finds them.
    question: { ids: [...checkedNodes.keys()].toSorted(), mark: model.mark(settings) },
  };
}

/** Returns whether a node's label does not yet record that its resource is tagged. */
export function isStale(node: TaggedNode, checksum: string): boolean {
  return node.metadata.deletionTimestamp === undefined && getTagsLabel(node) !== checksum;
}

function groupByResource(
  nodes: readonly TaggedNode[],
  model: TaggingModel,
): ReadonlyMap<string, readonly TaggedNode[]> {
  const nodesByResource = new Map<string, TaggedNode[]>();
  for (const node of nodes) {
    const id = model.getResource(node.spec.providerID ?? "");
    if (id !== undefined) nodesByResource.set(id, [...(nodesByResource.get(id) ?? []), node]);
  }
  return nodesByResource;
}

function createIdlePhase(code: string, message: string): TaggingPhase {
  return { kind: "idle", because: { code, message } };
}

/** Whether the reason of an event requires a check of resources whose labels record them as tagged. */
const AUDITS: Readonly<Record<EventReason, boolean>> = {
  watch: false,
  retry: false,
  monitor: false,
  refresh: true,
  sweep: true,
  replay: true,
};
