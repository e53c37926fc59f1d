import type { AskContext, DoneWrite } from "#core/controller.ts";
import type { CloudAction } from "#core/decision.ts";
import type { EventReason } from "#core/event.ts";
import {
  type NodeTagsModel,
  TAG,
  type TagParameters,
  type Tags,
  type TagsQuestion,
  type TagsResult,
  type TagsState,
} from "#core/node-tags.ts";
import type { Reason } from "#core/reason.ts";
import { getTagsLabel, selectTaggedNodes, type TaggedNode } from "#core/tagging/tagged-node.ts";

/** The phase of a cluster's tags by its nodes, before the cloud is asked. */
export type TaggingPhase =
  /** There is no work, for this reason. */
  | { readonly kind: "idle"; readonly because: Reason }
  | {
      readonly kind: "asking";
      readonly model: NodeTagsModel;
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
export function decidePhase(model: NodeTagsModel | undefined, context: AskContext): TaggingPhase {
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
  model: NodeTagsModel,
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

/** The known tags and labels, from the cloud's answer and the results of our own writes since. */
export interface KnownTags {
  readonly resources: ReadonlyMap<string, Tags>;
  /** Nodes whose labels we wrote. */
  readonly labelledNodes: ReadonlySet<string>;
  /**
   * IDs of resources and names of nodes whose write failed, with the reason: it is not retried in this
   * invocation.
   */
  readonly failed: ReadonlyMap<string, Reason>;
}

/** Returns the tags and labels after an observation and the given writes. */
export function buildKnownTags({ resources }: TagsState, done: readonly DoneWrite[]): KnownTags {
  const knownTags = {
    resources: new Map(Object.entries(resources)),
    labelledNodes: new Set<string>(),
    failed: new Map<string, Reason>(),
  };
  for (const { write, result, failed } of done) {
    if (write.on === "cloud") {
      for (const id of getActionIds(write)) {
        const because = failed ?? findRejection(id, result);
        if (because !== undefined) knownTags.failed.set(id, because);
        else knownTags.resources.set(id, applyTagAction({ ...knownTags.resources.get(id) }, write));
      }
    } else if (failed !== undefined) knownTags.failed.set(write.name, failed);
    else knownTags.labelledNodes.add(write.name);
  }
  return knownTags;
}

function getActionIds({ parameters }: CloudAction): readonly string[] {
  return (parameters as unknown as TagParameters).ids;
}

function applyTagAction(current: Tags, { action, parameters }: CloudAction): Tags {
  const { tags } = parameters as unknown as TagParameters;
  if (action === TAG) return { ...current, ...tags };
  return Object.fromEntries(Object.entries(current).filter(([key]) => !Object.hasOwn(tags, key)));
}

function findRejection(id: string, result: unknown): Reason | undefined {
  const { refused } = result as TagsResult;
  const message = Object.hasOwn(refused, id) ? refused[id] : undefined;
  return message === undefined ? undefined : { code: "Refused", message };
}
