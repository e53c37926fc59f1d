import type { Entries } from "#clouds/oci/inventory.ts";
import type { Listed } from "#clouds/oci/kept-lists.ts";
import { hasEnded, type OciInstance } from "#clouds/oci/objects.ts";

/** A list of one compartment's instances. */
export type InstanceList = Listed<Entries<OciInstance>>;

/** The instance of an id. */
export function instanceIn(lists: ReadonlyMap<string, InstanceList>, id: string): OciInstance | undefined {
  for (const { value } of lists.values()) {
    const found = indexOf(value).byId.get(id);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The instances of a name that have not ended. */
export function namedIn(lists: ReadonlyMap<string, InstanceList>, name: string): readonly OciInstance[] {
  return [...lists.values()].flatMap(({ value }) => indexOf(value).byName.get(name) ?? []);
}

interface Index {
  readonly byId: ReadonlyMap<string, OciInstance>;
  readonly byName: ReadonlyMap<string, readonly OciInstance[]>;
}

const INDEXES = new WeakMap<Entries<OciInstance>, Index>();

/** Made once for each list, however many batches look it up. */
function indexOf(list: Entries<OciInstance>): Index {
  const known = INDEXES.get(list);
  if (known !== undefined) return known;
  // What moved from page to page meanwhile counts once.
  const byId = new Map(list.entries.map((instance) => [instance.id, instance]));
  const alive = [...byId.values()].filter((instance) => !hasEnded(instance));
  const made = { byId, byName: Map.groupBy(alive, ({ displayName }) => displayName) };
  INDEXES.set(list, made);
  return made;
}
