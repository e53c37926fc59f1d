import { fullNameOf, type ObjectKey } from "#kube/follow/object-key.ts";
import { isOlderVersion } from "#kube/follow/resource-version.ts";

/** An object of a list; without a key it is malformed. */
export interface ListedObject<T> {
  readonly key: ObjectKey | undefined;
  readonly object: T;
}

/** Who is told of what differs from what was known. */
export interface KnownObjectsHandler<T> {
  applied(object: T, key: ObjectKey): void;
  deleted(key: ObjectKey): void;
  restarted(): void;
}

/** The keys of all objects there are, kept by what a watch and its lists tell. */
export interface KnownObjects<T> {
  apply(object: T, key: ObjectKey): void;
  forget(key: ObjectKey): void;
  /**
   * Takes a complete list over and tells what differs; `older` says that the list's own version is lower than one seen before.
   * Answers with how many objects there are, and whether a new history has begun.
   */
  replace(
    items: readonly ListedObject<T>[],
    older: boolean,
  ): { readonly objects: number; readonly restarted: boolean };
}

/** Knows nothing at first. */
export function createKnownObjects<T>(handler: KnownObjectsHandler<T>): KnownObjects<T> {
  const known = new Map<string, ObjectKey>();

  /** Versions only ever grow, and a list shows the newest: an object that went back is from another history. */
  const wentBack = ({ key }: ListedObject<T>): boolean => {
    const before = key === undefined ? undefined : known.get(fullNameOf(key));
    if (key === undefined || before?.uid !== key.uid) return false;
    return isOlderVersion(key.resourceVersion, before.resourceVersion);
  };

  function apply(object: T, key: ObjectKey): void {
    const before = known.get(fullNameOf(key));
    // A name that is taken again is another object: the end of the first was missed.
    if (before !== undefined && before.uid !== key.uid) forget(before);
    known.set(fullNameOf(key), key);
    handler.applied(object, key);
  }

  function forget(key: ObjectKey): void {
    if (known.get(fullNameOf(key))?.uid !== key.uid) return;
    known.delete(fullNameOf(key));
    handler.deleted(key);
  }

  return {
    apply,
    forget,
    replace(items, older) {
      const restarted = older || items.some(wentBack);
      if (restarted) handler.restarted();
      const present = new Map<string, string>();
      for (const { key } of items) if (key !== undefined) present.set(fullNameOf(key), key.uid);
      for (const key of [...known.values()]) if (present.get(fullNameOf(key)) !== key.uid) forget(key);
      for (const { key, object } of items) {
        if (key === undefined) continue;
        const changed = known.get(fullNameOf(key))?.resourceVersion !== key.resourceVersion;
        if (changed || restarted) apply(object, key);
      }
      return { objects: present.size, restarted };
    },
  };
}
