import type { AskContext } from "#core/controller.ts";
import type { Because } from "#core/decision.ts";
import type { EventReason } from "#core/event.ts";
import type { TaggingModel, Tags, TagsQuestion } from "#core/tagging/model.ts";
import { labelOf, nodesOf, type TaggedNode } from "#core/tagging/tagged-node.ts";

/** Where a cluster's tags stand by what its nodes say, before the cloud is asked. */
export type Standing =
  /** Nothing is to be done, for this reason. */
  | { readonly kind: "idle"; readonly because: Because }
  | {
      readonly kind: "asking";
      readonly model: TaggingModel;
      /** The tags that resources are to have, the mark included. */
      readonly wanted: Tags;
      /** What the label of a node says that is done. */
      readonly checksum: string;
      /** Nodes whose resources are looked at, by the ids of these; several may name one. */
      readonly looked: ReadonlyMap<string, readonly TaggedNode[]>;
      /** The ids of the resources that have a node. */
      readonly held: ReadonlySet<string>;
      readonly question: TagsQuestion;
    };

/** Tells where a cluster stands; `model` is its cloud's. */
export function standingOf(model: TaggingModel | undefined, context: AskContext): Standing {
  const { related, settings, reason } = context;
  const { cloud, tagging } = settings;
  if (model === undefined)
    return idle("NotSupported", `tags of the cloud "${cloud.provider}" are not part of this version`);
  if (tagging.resources.length === 0 || Object.keys(tagging.tags).length === 0)
    return idle("NoTags", "tagging.tags or tagging.resources is empty: what was tagged stays as it is");
  const nodes = nodesOf(related);
  if (nodes === undefined) return idle("NoNodes", "nothing is known of the cluster's nodes");
  const checksum = model.checksum(tagging.tags);
  const held = byResource(nodes, model);
  const stale = [...held].filter(([, of]) => of.some((node) => isStale(node, checksum)));
  const isAudit = AUDITS[reason];
  const looked = isAudit ? held : new Map(stale);
  return {
    kind: "asking",
    model,
    wanted: model.marked(tagging.tags, settings),
    checksum,
    looked,
    held: new Set(held.keys()),
    // Of what a node left behind no label tells, and the mark does.
    question: { ids: [...looked.keys()].toSorted(), mark: model.mark(settings) },
  };
}

/** Whether a node is one whose label has still to say that its resource is tagged. */
export function isStale(node: TaggedNode, checksum: string): boolean {
  return node.metadata.deletionTimestamp === undefined && labelOf(node) !== checksum;
}

function byResource(
  nodes: readonly TaggedNode[],
  model: TaggingModel,
): ReadonlyMap<string, readonly TaggedNode[]> {
  const held = new Map<string, TaggedNode[]>();
  for (const node of nodes) {
    const id = model.resourceOf(node.spec.providerID ?? "");
    if (id !== undefined) held.set(id, [...(held.get(id) ?? []), node]);
  }
  return held;
}

function idle(code: string, message: string): Standing {
  return { kind: "idle", because: { code, message } };
}

/** Whether the reason of an event calls for a look at the resources of nodes whose labels say that they are tagged. */
const AUDITS: Readonly<Record<EventReason, boolean>> = {
  watch: false,
  retry: false,
  monitor: false,
  refresh: true,
  sweep: true,
  replay: true,
};
