import type { ListReading } from "#clouds/oci/cached-lists.ts";
import type { Entries } from "#clouds/oci/inventory.ts";
import { hasEnded, type OciInstance } from "#clouds/oci/objects.ts";

/** A list of one compartment's instances. */
export type InstanceList = ListReading<Entries<OciInstance>>;

/** Finds the instance with an id. */
export function findInstance(lists: ReadonlyMap<string, InstanceList>, id: string): OciInstance | undefined {
  for (const { value } of lists.values()) {
    const found = indexInstances(value).byId.get(id);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Finds the instances with a name that are not terminated. */
export function findByName(lists: ReadonlyMap<string, InstanceList>, name: string): readonly OciInstance[] {
  return [...lists.values()].flatMap(({ value }) => indexInstances(value).byName.get(name) ?? []);
}

interface Index {
  readonly byId: ReadonlyMap<string, OciInstance>;
  readonly byName: ReadonlyMap<string, readonly OciInstance[]>;
}

const INDEXES = new WeakMap<Entries<OciInstance>, Index>();

/** Built once for each list and shared by all batches. */
function indexInstances(list: Entries<OciInstance>): Index {
  const cached = INDEXES.get(list);
  if (cached !== undefined) return cached;
  // An instance that moved between pages meanwhile counts once.
  const byId = new Map(list.entries.map((instance) => [instance.id, instance]));
  const alive = [...byId.values()].filter((instance) => !hasEnded(instance));
  const index = { byId, byName: Map.groupBy(alive, ({ displayName }) => displayName) };
  INDEXES.set(list, index);
  return index;
}
