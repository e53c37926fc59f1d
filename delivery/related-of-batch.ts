import type { ApiObject, Related } from "#core/controller.ts";
import { MAX_BATCH_BYTES, MAX_EVENT_BYTES, type RelatedList } from "#core/event.ts";
import type { Resource } from "#core/resources/resource.ts";

/** A related object, cut down to what decisions read of it. */
export interface Projection {
  readonly value: unknown;
  /** Of its JSON. */
  readonly bytes: number;
}

/** Objects of another resource, as far as decisions read them. */
export interface RelatedSource {
  readonly related: Related;
  readonly objects: {
    readonly resource: Resource;
    /** The newest version that was seen of any of them. */
    resourceVersion(): string;
    /** By `keyOfName`. */
    readonly projections: ReadonlyMap<string, Projection>;
  };
}

/** A batch with what its objects read of others. */
export interface RelatedBatch<T = unknown> {
  /** From the front of what was given, as many as fit with what they read. */
  readonly objects: readonly T[];
  /** Objects that read more than an event can carry. */
  readonly tooLarge: readonly T[];
  /** By the plural of the resource. */
  readonly lists: Readonly<Record<string, RelatedList>>;
}

interface Snapshot {
  readonly snapshot: ApiObject;
}

/** Bytes of an event around its objects and lists, generously. */
const ENVELOPE_BYTES = 4_000;

/** Takes of a filled batch what fits into one event together with what it reads of others, each of these once. */
export function withRelated<T extends Snapshot>(
  batch: readonly T[],
  sources: readonly RelatedSource[],
): RelatedBatch<T> {
  const taken = sources.map(() => new Map<string, Projection>());
  const objects: T[] = [];
  const tooLarge: T[] = [];
  let room = MAX_EVENT_BYTES - ENVELOPE_BYTES - bytesOf(batch);
  for (const object of batch) {
    const needed = sources.map((source, index) => missing(source, object, taken[index]));
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
  return { objects, tooLarge, lists: listsOf(sources, taken) };
}

/** A batch of several keeps to its limit; one alone may be larger. */
function bytesOf(batch: readonly Snapshot[]): number {
  return batch.length > 1 ? MAX_BATCH_BYTES : Buffer.byteLength(JSON.stringify(batch[0]?.snapshot ?? null));
}

/** What an object reads and the batch does not have yet; what is not there is not there for the function either. */
function missing(
  { related, objects: { projections } }: RelatedSource,
  { snapshot }: Snapshot,
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

function listsOf(
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
