import type { ClusterObject } from "#core/cluster-object.ts";
import { TAGS_LABEL } from "#core/contracts.ts";
import type { CloudAction, PatchWrite } from "#core/decision.ts";
import { patchObject } from "#core/decisions.ts";
import { pointer, setEntries, test } from "#core/json-patch.ts";
import { NODES } from "#core/resources/resource.ts";
import type { Settings } from "#core/settings.ts";
import { TAG, TAGS, type Tags, UNTAG } from "#core/tagging/model.ts";
import { isStale, type Standing } from "#core/tagging/standing.ts";
import { labelOf, type TaggedNode } from "#core/tagging/tagged-node.ts";
import type { TagWorld } from "#core/tagging/world.ts";

/** Resources that one action names. */
export const MAX_RESOURCES = 100;

/** Actions, and labels, that one round is made of: what is left comes with the next. */
const MAX_ACTIONS = 20;
const MAX_LABELS = 500;

/** A cluster's tags and labels as they are, and as they are to be. */
export interface TaggingParts {
  readonly namespace: ClusterObject;
  readonly standing: Extract<Standing, { readonly kind: "asking" }>;
  readonly world: TagWorld;
  readonly settings: Settings;
}

/** What is to be written next, and what for. */
export interface TaggingPlan {
  readonly untag: readonly CloudAction[];
  readonly tag: readonly CloudAction[];
  readonly labels: readonly PatchWrite[];
}

/**
 * Tags that are ours and wanted no more go before anything else: until they are gone the mark names them. Wanted ones and the mark come
 * in one action, so that none is ever there without it; the label of a node says so last. `left` are resources whose node is gone.
 */
export function planTags(parts: TaggingParts, left: ReadonlyMap<string, Tags>): TaggingPlan {
  const { standing, world } = parts;
  const groups = new Map<string, { readonly tags: Tags; readonly ids: string[] }>();
  const tagged: string[] = [];
  const labels: PatchWrite[] = [];
  for (const [id, nodes] of standing.looked) {
    const tags = world.resources.get(id);
    if (tags === undefined || world.failed.has(id) || nodes.every(isLeaving)) continue;
    const stale = ownedTags(tags, parts).filter(([key]) => !Object.hasOwn(standing.wanted, key));
    if (stale.length > 0) addTo(groups, Object.fromEntries(stale), id);
    else if (Object.entries(standing.wanted).some(([key, value]) => tags[key] !== value)) tagged.push(id);
    else labels.push(...nodes.flatMap((node) => labelled(node, parts) ?? []));
  }
  for (const [id, tags] of left) addTo(groups, tags, id);
  const untag = [...groups.values()].flatMap(({ tags, ids }) => actions(UNTAG, ids, tags, parts));
  return {
    untag: untag.slice(0, MAX_ACTIONS),
    tag: actions(TAG, tagged, standing.wanted, parts).slice(0, MAX_ACTIONS),
    labels: labels.slice(0, MAX_LABELS),
  };
}

/**
 * Resources that carry our mark and that no node names, each with the tags that the mark says are ours: also wanted ones that are missing
 * now, which another actor may be about to set again.
 */
export function leftBehind(parts: TaggingParts): ReadonlyMap<string, Tags> {
  const { standing, world, settings } = parts;
  const { [standing.model.mark(settings)]: _, ...wanted } = standing.wanted;
  return new Map(
    [...world.resources].flatMap(([id, tags]) => {
      const isLeft = !standing.held.has(id) && !world.failed.has(id);
      const owned = isLeft ? ownedTags({ ...wanted, ...tags }, parts) : [];
      return owned.length === 0 ? [] : [[id, Object.fromEntries(owned)]];
    }),
  );
}

/** Those of a resource's tags that are ours, sorted by their keys. */
function ownedTags(tags: Tags, { standing, settings }: TaggingParts): readonly [string, string][] {
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

function actions(
  action: string,
  all: readonly string[],
  tags: Tags,
  { namespace: { metadata } }: TaggingParts,
): CloudAction[] {
  return chunked(all.toSorted()).map((ids) => ({
    on: "cloud",
    capability: TAGS,
    action,
    target: ids.length === 1 ? `${ids[0]}` : `${ids[0]} and ${ids.length - 1} more`,
    parameters: { ids, tags },
    precondition: { uid: metadata.uid, deleting: false },
  }));
}

function chunked(ids: readonly string[]): string[][] {
  const count = Math.ceil(ids.length / MAX_RESOURCES);
  return Array.from({ length: count }, (_, index) =>
    ids.slice(index * MAX_RESOURCES, (index + 1) * MAX_RESOURCES),
  );
}

function labelled(node: TaggedNode, { standing, world }: TaggingParts): PatchWrite | undefined {
  const { name, labels } = node.metadata;
  if (!isStale(node, standing.checksum) || world.labelled.has(name) || world.failed.has(name))
    return undefined;
  const entry = {
    key: TAGS_LABEL,
    value: standing.checksum,
    tests: [test(`/metadata/labels${pointer(TAGS_LABEL)}`, labelOf(node) ?? null)],
  };
  return patchObject(NODES, node, [setEntries("/metadata/labels", labels !== undefined, [entry])]);
}

function isLeaving({ metadata }: TaggedNode): boolean {
  return metadata.deletionTimestamp !== undefined;
}
