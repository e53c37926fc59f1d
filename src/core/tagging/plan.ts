import { splitIntoChunks } from "#core/chunks.ts";
import type { ClusterObject } from "#core/cluster-object.ts";
import { TAGS_LABEL } from "#core/contracts.ts";
import type { CloudAction, PatchWrite } from "#core/decision.ts";
import { patchObject } from "#core/decisions.ts";
import { formatPointer, setEntries, test } from "#core/json-patch.ts";
import { TAG, TAGS, type Tags, UNTAG } from "#core/node-tags.ts";
import { NODES } from "#core/resources/resource.ts";
import type { Settings } from "#core/settings.ts";
import { isStale, type KnownTags, type TaggingPhase } from "#core/tagging/phase.ts";
import { getTagsLabel, type TaggedNode } from "#core/tagging/tagged-node.ts";

/** The maximum number of resources in one action. */
export const MAX_RESOURCES = 100;

/** The maximum number of actions and labels in one round; the rest follows in the next. */
const MAX_ACTIONS = 20;
const MAX_LABELS = 500;

/** The current and the desired tags and labels of a cluster. */
export interface TaggingParts {
  readonly namespace: ClusterObject;
  readonly phase: Extract<TaggingPhase, { readonly kind: "asking" }>;
  readonly known: KnownTags;
  readonly settings: Settings;
}

/** The next writes, and their purpose. */
export interface TaggingPlan {
  readonly untag: readonly CloudAction[];
  readonly tag: readonly CloudAction[];
  readonly labels: readonly PatchWrite[];
}

/**
 * Plans the next writes. Our surplus tags are removed first: until then the mark lists them. Desired tags
 * and the mark are written in one action, so no tag exists without the mark; a node's label is written last.
 * `abandoned` are resources whose node is gone.
 */
export function planTags(parts: TaggingParts, abandoned: ReadonlyMap<string, Tags>): TaggingPlan {
  const { phase, known } = parts;
  const groups = new Map<string, { readonly tags: Tags; readonly ids: string[] }>();
  const tagged: string[] = [];
  const labels: PatchWrite[] = [];
  for (const [id, nodes] of phase.checkedNodes) {
    const tags = known.resources.get(id);
    if (tags === undefined || known.failed.has(id) || nodes.every(isLeaving)) continue;
    const stale = selectOwnedTags(tags, parts).filter(([key]) => !Object.hasOwn(phase.desired, key));
    if (stale.length > 0) addTo(groups, Object.fromEntries(stale), id);
    else if (Object.entries(phase.desired).some(([key, value]) => tags[key] !== value)) tagged.push(id);
    else labels.push(...nodes.flatMap((node) => buildLabelPatch(node, parts) ?? []));
  }
  for (const [id, tags] of abandoned) addTo(groups, tags, id);
  const untag = [...groups.values()].flatMap(({ tags, ids }) => buildActions(UNTAG, ids, tags, parts));
  return {
    untag: untag.slice(0, MAX_ACTIONS),
    tag: buildActions(TAG, tagged, phase.desired, parts).slice(0, MAX_ACTIONS),
    labels: labels.slice(0, MAX_LABELS),
  };
}

/**
 * Returns the resources with our mark that no node names, each with the tags that the mark lists. It includes
 * missing desired tags, which another actor may be about to write again.
 */
export function listAbandonedResources(parts: TaggingParts): ReadonlyMap<string, Tags> {
  const { phase, known, settings } = parts;
  const { [phase.model.mark(settings)]: _, ...desired } = phase.desired;
  return new Map(
    [...known.resources].flatMap(([id, tags]) => {
      const isAbandoned = !phase.resourcesWithNode.has(id) && !known.failed.has(id);
      const owned = isAbandoned ? selectOwnedTags({ ...desired, ...tags }, parts) : [];
      return owned.length === 0 ? [] : [[id, Object.fromEntries(owned)]];
    }),
  );
}

/** Our tags of a resource, sorted by key. */
function selectOwnedTags(tags: Tags, { phase, settings }: TaggingParts): readonly [string, string][] {
  const keys = new Set(phase.model.owned(tags, settings.tagging.tags, settings));
  return Object.entries(tags)
    .filter(([key]) => keys.has(key))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
}

function addTo(
  groups: Map<string, { readonly tags: Tags; readonly ids: string[] }>,
  tags: Tags,
  id: string,
): void {
  const key = JSON.stringify(tags);
  const group = groups.get(key) ?? { tags, ids: [] };
  group.ids.push(id);
  groups.set(key, group);
}

function buildActions(
  action: string,
  resourceIds: readonly string[],
  tags: Tags,
  { namespace: { metadata } }: TaggingParts,
): CloudAction[] {
  return splitIntoChunks(resourceIds.toSorted(), MAX_RESOURCES).map((ids) => ({
    on: "cloud",
    capability: TAGS,
    action,
    target: ids.length === 1 ? `${ids[0]}` : `${ids[0]} and ${ids.length - 1} more`,
    parameters: { ids, tags },
    precondition: { uid: metadata.uid, deleting: false },
  }));
}

function buildLabelPatch(node: TaggedNode, { phase, known }: TaggingParts): PatchWrite | undefined {
  const { name, labels } = node.metadata;
  if (!isStale(node, phase.checksum) || known.labelledNodes.has(name) || known.failed.has(name))
    return undefined;
  const entry = {
    key: TAGS_LABEL,
    value: phase.checksum,
    tests: [test(`/metadata/labels${formatPointer(TAGS_LABEL)}`, getTagsLabel(node) ?? null)],
  };
  return patchObject(NODES, node, [setEntries("/metadata/labels", labels !== undefined, [entry])]);
}

function isLeaving({ metadata }: TaggedNode): boolean {
  return metadata.deletionTimestamp !== undefined;
}
