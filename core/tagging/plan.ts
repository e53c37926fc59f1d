import type { ClusterObject } from "#core/cluster-object.ts";
import { TAGS_LABEL } from "#core/contracts.ts";
import type { CloudAction, PatchWrite } from "#core/decision.ts";
import { patchObject } from "#core/decisions.ts";
import { formatPointer, setEntries, test } from "#core/json-patch.ts";
import { NODES } from "#core/resources/resource.ts";
import type { Settings } from "#core/settings.ts";
import type { KnownTags } from "#core/tagging/known-tags.ts";
import { TAG, TAGS, type Tags, UNTAG } from "#core/tagging/model.ts";
import { isStale, type TaggingPhase } from "#core/tagging/phase.ts";
import { getTagsLabel, type TaggedNode } from "#core/tagging/tagged-node.ts";

/** The maximum number of resources in one action. */
export const MAX_RESOURCES = 100;

/** The maximum number of actions and labels in one round; the rest follows in the next. */
const MAX_ACTIONS = 20;
const MAX_LABELS = 500;

/** The current and the desired tags and labels of a cluster. */
export interface TaggingParts {
  readonly namespace: ClusterObject;
  readonly standing: Extract<TaggingPhase, { readonly kind: "asking" }>;
  readonly world: KnownTags;
  readonly settings: Settings;
}

/** The next writes, and their purpose. */
export interface TaggingPlan {
  readonly untag: readonly CloudAction[];
  readonly tag: readonly CloudAction[];
  readonly labels: readonly PatchWrite[];
}

/**
 * Plans the next writes. Our unwanted tags are removed first: until then the mark lists them. Desired tags
 * and the mark are written in one action, so no tag exists without the mark; a node's label is written last.
 * `left` are resources whose node is gone.
 */
export function planTags(parts: TaggingParts, left: ReadonlyMap<string, Tags>): TaggingPlan {
  const { standing, world } = parts;
  const groups = new Map<string, { readonly tags: Tags; readonly ids: string[] }>();
  const tagged: string[] = [];
  const labels: PatchWrite[] = [];
  for (const [id, nodes] of standing.looked) {
    const tags = world.resources.get(id);
    if (tags === undefined || world.failed.has(id) || nodes.every(isLeaving)) continue;
    const stale = selectOwnedTags(tags, parts).filter(([key]) => !Object.hasOwn(standing.wanted, key));
    if (stale.length > 0) addTo(groups, Object.fromEntries(stale), id);
    else if (Object.entries(standing.wanted).some(([key, value]) => tags[key] !== value)) tagged.push(id);
    else labels.push(...nodes.flatMap((node) => buildLabelPatch(node, parts) ?? []));
  }
  for (const [id, tags] of left) addTo(groups, tags, id);
  const untag = [...groups.values()].flatMap(({ tags, ids }) => buildActions(UNTAG, ids, tags, parts));
  return {
    untag: untag.slice(0, MAX_ACTIONS),
    tag: buildActions(TAG, tagged, standing.wanted, parts).slice(0, MAX_ACTIONS),
    labels: labels.slice(0, MAX_LABELS),
  };
}

/**
 * Returns the resources with our mark that no node names, each with the tags that the mark lists. It includes
 * missing desired tags, which another actor may be about to write again.
 */
export function listAbandonedResources(parts: TaggingParts): ReadonlyMap<string, Tags> {
  const { standing, world, settings } = parts;
  const { [standing.model.mark(settings)]: _, ...wanted } = standing.wanted;
  return new Map(
    [...world.resources].flatMap(([id, tags]) => {
      const isLeft = !standing.held.has(id) && !world.failed.has(id);
      const owned = isLeft ? selectOwnedTags({ ...wanted, ...tags }, parts) : [];
      return owned.length === 0 ? [] : [[id, Object.fromEntries(owned)]];
    }),
  );
}

/** Our tags of a resource, sorted by key. */
function selectOwnedTags(tags: Tags, { standing, settings }: TaggingParts): readonly [string, string][] {
  const keys = new Set(standing.model.owned(tags, settings));
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
  all: readonly string[],
  tags: Tags,
  { namespace: { metadata } }: TaggingParts,
): CloudAction[] {
  return splitIntoChunks(all.toSorted()).map((ids) => ({
    on: "cloud",
    capability: TAGS,
    action,
    target: ids.length === 1 ? `${ids[0]}` : `${ids[0]} and ${ids.length - 1} more`,
    parameters: { ids, tags },
    precondition: { uid: metadata.uid, deleting: false },
  }));
}

function splitIntoChunks(ids: readonly string[]): string[][] {
  const count = Math.ceil(ids.length / MAX_RESOURCES);
  return Array.from({ length: count }, (_, index) =>
    ids.slice(index * MAX_RESOURCES, (index + 1) * MAX_RESOURCES),
  );
}

function buildLabelPatch(node: TaggedNode, { standing, world }: TaggingParts): PatchWrite | undefined {
  const { name, labels } = node.metadata;
  if (!isStale(node, standing.checksum) || world.labelledNodes.has(name) || world.failed.has(name))
    return undefined;
  const entry = {
    key: TAGS_LABEL,
    value: standing.checksum,
    tests: [test(`/metadata/labels${formatPointer(TAGS_LABEL)}`, getTagsLabel(node) ?? null)],
  };
  return patchObject(NODES, node, [setEntries("/metadata/labels", labels !== undefined, [entry])]);
}

function isLeaving({ metadata }: TaggedNode): boolean {
  return metadata.deletionTimestamp !== undefined;
}
