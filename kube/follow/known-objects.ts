import { createBreather } from "#kube/follow/breathe.ts";
import { fullNameOf, type ObjectKey } from "#kube/follow/object-key.ts";
import { isOlderVersion } from "#kube/follow/resource-version.ts";

/** An object of a list. */
export interface ListedObject<T> {
  readonly key: ObjectKey;
  readonly object: T;
  /** Of what is kept of it. */
  readonly bytes: number;
}

/** What a list has shown. */
export interface Listed<T> {
  readonly items: readonly ListedObject<T>[];
  /** Whether what it does not show is not there. */
  readonly complete: boolean;
  /** Whether the list's own version is lower than one seen before. */
  readonly older: boolean;
}

/** Who is told of what differs from what was known. */
export interface KnownObjectsHandler<T> {
  applied(object: T, key: ObjectKey): void;
  deleted(key: ObjectKey): void;
  restarted(): void;
}

/** The keys of the objects that are followed, kept by what a watch and its lists tell. */
export interface KnownObjects<T> {
  readonly count: number;
  isKnown(key: ObjectKey): boolean;
  /** False where there is no room for it: for another object, or for one that has grown so large, which is forgotten. */
  apply(listed: ListedObject<T>): boolean;
  /** False where it was not known. */
  forget(key: ObjectKey): boolean;
  /**
   * Takes a list over and tells what differs, as long as the signal has not fired; what is known and not shown by a list that is not
   * complete is left as it was. Answers with whether a new history has begun.
   */
  replace(listed: Listed<T>, signal: AbortSignal): Promise<boolean>;
}

/** Of what is kept of one object: etcd holds none that is larger. */
export const LARGEST_OBJECT_BYTES = 1.5 * 1024 * 1024;

/** Knows nothing at first, and never more than so many objects and bytes; `onCount` is called when there is one object more or less. */
export function createKnownObjects<T>(
  handler: KnownObjectsHandler<T>,
  { maxObjects, maxBytes }: { readonly maxObjects: number; readonly maxBytes: number },
  onCount: (change: 1 | -1) => void,
): KnownObjects<T> {
  const known = new Map<string, ObjectKey>();
  const sizes = new Map<string, number>();
  let bytes = 0;

  /** Versions only ever grow, and a list shows the newest: an object that went back is from another history. */
  const wentBack = ({ key }: ListedObject<T>): boolean => {
    const before = known.get(fullNameOf(key));
    if (before?.uid !== key.uid) return false;
    return isOlderVersion(key.resourceVersion, before.resourceVersion);
  };

  function resize(name: string, size: number): void {
    bytes += size - (sizes.get(name) ?? 0);
    if (size === 0) sizes.delete(name);
    else sizes.set(name, size);
  }

  function apply({ object, key, bytes: size }: ListedObject<T>): boolean {
    const name = fullNameOf(key);
    const before = known.get(name);
    if (before === undefined && known.size >= maxObjects) return false;
    if (size > LARGEST_OBJECT_BYTES || bytes - (sizes.get(name) ?? 0) + size > maxBytes) {
      if (before !== undefined) forget(before);
      return false;
    }
    // A name that is taken again is another object: the end of the first was missed.
    if (before !== undefined && before.uid !== key.uid) forget(before);
    if (!known.has(name)) onCount(1);
    known.set(name, key);
    resize(name, size);
    handler.applied(object, key);
    return true;
  }

  function forget(key: ObjectKey): boolean {
    const name = fullNameOf(key);
    if (known.get(name)?.uid !== key.uid) return false;
    known.delete(name);
    resize(name, 0);
    onCount(-1);
    handler.deleted(key);
    return true;
  }

  return {
    get count() {
      return known.size;
    },
    isKnown: (key) => known.has(fullNameOf(key)),
    apply,
    forget,
    async replace({ items, complete, older }, signal) {
      const breathe = createBreather();
      const restarted = older || items.some(wentBack);
      if (restarted) handler.restarted();
      const present = new Map<string, string>();
      for (const { key } of items) present.set(fullNameOf(key), key.uid);
      for (const key of complete ? [...known.values()] : []) {
        if (present.get(fullNameOf(key)) === key.uid) continue;
        const pause = breathe();
        if (pause !== undefined) await pause;
        if (signal.aborted) return restarted;
        forget(key);
      }
      for (const item of items) {
        const { key } = item;
        const changed = known.get(fullNameOf(key))?.resourceVersion !== key.resourceVersion;
        if (!changed && !restarted) continue;
        const pause = breathe();
        if (pause !== undefined) await pause;
        if (signal.aborted) return restarted;
        apply(item);
      }
      return restarted;
    },
  };
}
