import {
  formatCollectionPath,
  formatObjectKey,
  type ObjectName,
  type Resource,
} from "#core/resources/resource.ts";
import type { ApiObject, Related, Watch } from "#core/watch.ts";
import { startAtMost } from "#kube/client/semaphore.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { FollowBounds } from "#kube/follow/bounds.ts";
import { listByName } from "#kube/follow/list.ts";
import type { RequestFailure } from "#kube/follow/request-failure.ts";
import type { SelectContext } from "#sweep/select.ts";

/** Objects of a resource by their keys (`formatObjectKey`), or all of them. */
export type ObjectNames = ReadonlyMap<string, ObjectName> | "all";

/** Objects that someone reports as changed, by the plural of their resource. */
export type TouchedObjects = ReadonlyMap<string, ObjectNames>;

/** Names of one resource that are remembered; beyond them the whole resource counts as touched. */
export const MAX_TOUCHED_NAMES = 500;

/** Objects that are read one by one; more are read as a list, page by page. */
const MAX_READS = 50;

/** Reads by name at a time. */
const MAX_PARALLEL_READS = 8;

/** Merges names; too many become all. */
export function mergeNames(names: readonly ObjectNames[]): ObjectNames {
  const merged = new Map<string, ObjectName>();
  for (const each of names) {
    if (each === "all") return "all";
    for (const [key, name] of each) merged.set(key, name);
    if (merged.size > MAX_TOUCHED_NAMES) return "all";
  }
  return merged;
}

/** Merges the touched objects of two reports. */
export function mergeTouched(one: TouchedObjects, other: TouchedObjects): TouchedObjects {
  const merged = new Map(one);
  for (const [resource, names] of other)
    merged.set(resource, mergeNames([merged.get(resource) ?? new Map(), names]));
  return merged;
}

/** Objects that were read by name. */
export interface NamedObjects {
  /** The names that were read. */
  readonly names: ReadonlyMap<string, ObjectName>;
  /** By key; names that are not among them do not exist. */
  readonly objects: ReadonlyMap<string, unknown>;
  /** The version of the first answer. */
  readonly resourceVersion: string;
  /** Why some could not be read. */
  readonly failure: RequestFailure | undefined;
}

/** Reads objects by name, with the right to list them; undefined if a list is cheaper. */
export function readNames(
  { direct, bounds, signal }: ReadOptions,
  resource: Resource,
  names: ObjectNames,
): Promise<NamedObjects> | undefined {
  return names === "all" || names.size > MAX_READS ? undefined : readEach(names);

  async function readEach(wanted: ReadonlyMap<string, ObjectName>): Promise<NamedObjects> {
    const objects = new Map<string, unknown>();
    let resourceVersion: string | undefined;
    let failure: RequestFailure | undefined;
    const path = formatCollectionPath(resource);
    const reads = startAtMost(MAX_PARALLEL_READS, [...wanted], async ([key, name]) => {
      if (failure !== undefined || signal.aborted) return;
      const page = await listByName(direct, path, name, signal, bounds);
      if (page.kind === "failed") failure = page;
      if (page.kind !== "page") return;
      resourceVersion ??= page.resourceVersion;
      for (const item of page.items) objects.set(key, item);
    });
    await Promise.all(reads);
    return { names: wanted, objects, resourceVersion: resourceVersion ?? "0", failure };
  }
}

/** How touched objects are read. */
export interface ReadOptions {
  readonly direct: Transport;
  readonly bounds: FollowBounds;
  readonly signal: AbortSignal;
}

/** A watch that touched objects concern, and what it needs to read. */
export interface TouchedWatch {
  readonly watch: Watch;
  /** Its own objects to read. */
  readonly names: ObjectNames;
  /** The related objects that its decisions read, in the order of `watch.related`. */
  readonly related: readonly ObjectNames[];
}

/** What a look at touched objects has to read and may send. */
export interface TouchedPlan {
  readonly watches: readonly TouchedWatch[];
  /** Objects that were read already, by the plural of their resource. */
  readonly read: ReadonlyMap<string, NamedObjects>;
  /** Whether an object is sent: as touched work, or because it reads a touched object. */
  isDue(watch: Watch, object: ApiObject, isWork: boolean): boolean;
}

/**
 * Reads the touched objects and finds the watches that they concern: those of objects that need work, and
 * those that follow a touched object. Without any, nothing else is read. States that last are left to the
 * sweep: the monitor waits before it judges them.
 */
export async function planTouched(
  touched: TouchedObjects,
  watches: readonly Watch[],
  context: SelectContext,
  options: ReadOptions,
): Promise<TouchedPlan> {
  const candidates = watches.filter(({ rechecks }) => rechecks?.monitor === undefined);
  const read = new Map<string, NamedObjects>();
  for (const resource of listResources(candidates)) {
    const names = touched.get(resource.name);
    const objects = names && (await readNames(options, resource, names));
    if (objects !== undefined) read.set(resource.name, objects);
  }
  const followed = new Map(candidates.map((watch) => [watch, watch.related.filter(isFollowed(watch))]));
  return {
    watches: candidates.flatMap((watch) => planWatch(watch) ?? []),
    read,
    isDue(watch, object, isWork) {
      const names = watch.only === undefined ? touched.get(watch.resource.name) : undefined;
      const isTouched =
        names !== undefined && (names === "all" || names.has(formatObjectKey(object.metadata)));
      if (isWork && isTouched) return true;
      return (followed.get(watch) ?? []).some((related) => related.reads(object).length > 0);
    },
  };

  /** Whether a watch follows a related resource of which an object changed. */
  function isFollowed(watch: Watch): (related: Related) => boolean {
    return (related) => {
      const { name } = related.resource;
      const names = touched.get(name);
      if (watch.rechecks?.resync?.whenRelatedChange !== true || names === undefined) return false;
      const objects = read.get(name);
      if (objects === undefined) return true;
      if (objects.failure !== undefined) return false;
      if ([...objects.names.keys()].some((key) => !objects.objects.has(key))) return true;
      // Objects of its own resource wait for others to go.
      if (name === watch.resource.name) return false;
      return [...objects.objects.values()].some(
        (each) => related.project(each) !== undefined && !isWaiting(name, each),
      );
    };
  }

  /** Whether an object needs work itself: that will change it again, and is reported then. */
  function isWaiting(resource: string, value: unknown): boolean {
    const own = candidates.filter((each) => each.resource.name === resource && each.only === undefined);
    return own.some((watch) => findWork(watch, value) !== undefined);
  }

  function findWork(watch: Watch, value: unknown): ApiObject | undefined {
    const parsed = watch.parse(value);
    const needsWork = parsed.kind === "object" && watch.needsWork(parsed.object, context);
    return needsWork ? watch.snapshot(parsed.object, context) : undefined;
  }

  function planWatch(watch: Watch): TouchedWatch | undefined {
    const all = { watch, names: "all", related: watch.related.map(() => "all" as const) } as const;
    if ((followed.get(watch) ?? []).length > 0) return all;
    const names = watch.only === undefined ? touched.get(watch.resource.name) : undefined;
    if (names === undefined) return undefined;
    const objects = read.get(watch.resource.name);
    if (objects === undefined) return all;
    const work = [...objects.objects.values()].flatMap((value) => findWork(watch, value) ?? []);
    if (work.length === 0) return undefined;
    return { watch, names, related: watch.related.map((related) => listReads(related, work)) };
  }
}

function listResources(watches: readonly Watch[]): readonly Resource[] {
  const resources = watches.flatMap(({ resource, related }) => [
    resource,
    ...related.map((each) => each.resource),
  ]);
  return [...new Map(resources.map((resource) => [resource.name, resource])).values()];
}

function listReads(related: Related, objects: readonly ApiObject[]): ObjectNames {
  const names = new Map<string, ObjectName>();
  for (const object of objects) {
    const keys = related.reads(object);
    if (keys === "all") return "all";
    for (const key of keys) names.set(key, parseKey(key));
  }
  return names;
}

/** The inverse of `formatObjectKey`. */
function parseKey(key: string): ObjectName {
  const at = key.indexOf("/");
  return at < 0 ? { name: key } : { namespace: key.slice(0, at), name: key.slice(at + 1) };
}
