import { MAX_BATCH_BYTES, MAX_EVENT_BYTES, type RelatedList } from "#core/event.ts";
import type { Resource } from "#core/resources/resource.ts";
import type { ApiObject, Related, Watch } from "#core/watch.ts";

/** The fields of a related object that decisions read. */
export interface Projection {
  readonly value: unknown;
  /** Bytes of its JSON. */
  readonly bytes: number;
}

/** Objects of a related resource, reduced to what decisions read. */
export interface RelatedSource {
  readonly related: Related;
  readonly objects: {
    readonly resource: Resource;
    /** The newest version seen of any of them. */
    resourceVersion(): string;
    /** Keyed by `formatObjectKey`. */
    readonly projections: ReadonlyMap<string, Projection>;
  };
}

/** A batch with the related objects that it reads. */
export interface RelatedBatch<T = unknown> {
  /** The first of the given objects, as many as fit together with their related objects. */
  readonly objects: readonly T[];
  /** Objects whose related objects exceed an event's size. */
  readonly tooLarge: readonly T[];
  /** Keyed by the plural of the resource. */
  readonly lists: Readonly<Record<string, RelatedList>>;
}

interface SnapshotHolder {
  readonly snapshot: ApiObject;
}

/** Bytes of an event around its objects and lists, rounded up generously. */
const ENVELOPE_BYTES = 4_000;

/** Limits a filled batch to what fits in one event with its related objects, each included once. */
export function withRelated<T extends SnapshotHolder>(
  batch: readonly T[],
  sources: readonly RelatedSource[],
): RelatedBatch<T> {
  const taken = sources.map(() => new Map<string, Projection>());
  const objects: T[] = [];
  const tooLarge: T[] = [];
  let room = MAX_EVENT_BYTES - ENVELOPE_BYTES - limitBatchBytes(batch);
  for (const object of batch) {
    const needed = sources.map((source, index) => listMissingRelated(source, object, taken[index]));
    const bytes = needed.flat().reduce((sum, [, projection]) => sum + projection.bytes, 0);
    if (bytes > room) {
      if (objects.length > 0) break;
      tooLarge.push(object);
      continue;
    }
    room -= bytes;
    objects.push(object);
    for (const [index, found] of needed.entries())
      for (const [key, projection] of found) taken[index]?.set(key, projection);
  }
  return { objects, tooLarge, lists: buildRelatedLists(sources, taken) };
}

/** Several objects keep to the batch limit; a single object may exceed it. */
function limitBatchBytes(batch: readonly SnapshotHolder[]): number {
  return batch.length > 1 ? MAX_BATCH_BYTES : Buffer.byteLength(JSON.stringify(batch[0]?.snapshot ?? null));
}

/**
 * Lists the related objects that an object reads and the batch lacks. Objects that are not found are left
 * out.
 */
function listMissingRelated(
  { related, objects: { projections } }: RelatedSource,
  { snapshot }: SnapshotHolder,
  taken: ReadonlyMap<string, Projection> | undefined,
): readonly (readonly [string, Projection])[] {
  if (taken === undefined || taken.size === projections.size) return [];
  const reads = related.reads(snapshot);
  const found: (readonly [string, Projection])[] = [];
  for (const key of reads === "all" ? projections.keys() : new Set(reads)) {
    const projection = taken.has(key) ? undefined : projections.get(key);
    if (projection !== undefined) found.push([key, projection]);
  }
  return found;
}

function buildRelatedLists(
  sources: readonly RelatedSource[],
  taken: readonly ReadonlyMap<string, Projection>[],
): Record<string, RelatedList> {
  const lists: Record<string, RelatedList> = {};
  for (const [index, { objects }] of sources.entries()) {
    lists[objects.resource.name] = {
      resourceVersion: objects.resourceVersion(),
      items: [...(taken[index]?.values() ?? [])].map(({ value }) => value),
    };
  }
  return lists;
}

/**
 * Whether an object is checked when related objects change: it reads some, and its controller follows them.
 */
export function isRelatedFollower<T extends ApiObject>({ rechecks, related }: Watch<T>, object: T): boolean {
  if (rechecks?.resync?.whenRelatedChange !== true) return false;
  return related.some((each) => {
    const reads = each.reads(object);
    return reads === "all" || reads.length > 0;
  });
}
