import { createYieldToEventLoop } from "#kube/follow/clock.ts";
import { formatFullName, isOlderVersion, type ObjectKey } from "#kube/follow/object-key.ts";

/** An object of a list. */
export interface ListedObject<T> {
  readonly key: ObjectKey;
  readonly object: T;
  /** Bytes of what is kept of it. */
  readonly bytes: number;
}

/** The content of a list. */
export interface ListChanges<T> {
  readonly items: readonly ListedObject<T>[];
  /** Whether an object that the list lacks does not exist. */
  readonly complete: boolean;
  /** Whether the list's version is lower than one seen before. */
  readonly older: boolean;
}

/** Receives the differences from the known state. */
export interface ObjectStoreHandler<T> {
  applied(object: T, key: ObjectKey): void;
  deleted(key: ObjectKey): void;
  restarted(): void;
}

/** The keys of the followed objects, updated by a watch and its lists. */
export interface ObjectStore<T> {
  readonly count: number;
  isKnown(key: ObjectKey): boolean;
  /** Returns false without room for the object; an object that grew too large is forgotten. */
  apply(listed: ListedObject<T>): boolean;
  /** Returns false if the object was unknown. */
  forget(key: ObjectKey): boolean;
  /**
   * Applies a list and reports differences until the signal fires. Known objects that an incomplete list
   * lacks stay. Returns whether a new history has begun.
   */
  replace(listed: ListChanges<T>, signal: AbortSignal): Promise<boolean>;
}

/** Limit of the bytes kept of one object: etcd stores none that is larger. */
export const LARGEST_OBJECT_BYTES = 1.5 * 1024 * 1024;

/**
 * Creates an empty store, limited in objects and bytes; `onCount` is called when the number of objects
 * changes by one.
 */
export function createObjectStore<T>(
  handler: ObjectStoreHandler<T>,
  { maxObjects, maxBytes }: { readonly maxObjects: number; readonly maxBytes: number },
  onCount: (change: 1 | -1) => void,
): ObjectStore<T> {
  const known = new Map<string, ObjectKey>();
  const sizes = new Map<string, number>();
  let bytes = 0;

  /**
   * Versions only grow, and a list shows the newest: an object with an older version is from another history.
   */
  const wentBack = ({ key }: ListedObject<T>): boolean => {
    const before = known.get(formatFullName(key));
    if (before?.uid !== key.uid) return false;
    return isOlderVersion(key.resourceVersion, before.resourceVersion);
  };

  function resize(name: string, size: number): void {
    bytes += size - (sizes.get(name) ?? 0);
    if (size === 0) sizes.delete(name);
    else sizes.set(name, size);
  }

  function apply({ object, key, bytes: size }: ListedObject<T>): boolean {
    const name = formatFullName(key);
    const before = known.get(name);
    if (before === undefined && known.size >= maxObjects) return false;
    if (size > LARGEST_OBJECT_BYTES || bytes - (sizes.get(name) ?? 0) + size > maxBytes) {
      if (before !== undefined) forget(before);
      return false;
    }
    // A reused name is a new object: the deletion of the first was missed.
    if (before !== undefined && before.uid !== key.uid) forget(before);
    if (!known.has(name)) onCount(1);
    known.set(name, key);
    resize(name, size);
    handler.applied(object, key);
    return true;
  }

  function forget(key: ObjectKey): boolean {
    const name = formatFullName(key);
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
    isKnown: (key) => known.has(formatFullName(key)),
    apply,
    forget,
    async replace({ items, complete, older }, signal) {
      const breathe = createYieldToEventLoop();
      const restarted = older || items.some(wentBack);
      if (restarted) handler.restarted();
      const present = new Map<string, string>();
      for (const { key } of items) present.set(formatFullName(key), key.uid);
      for (const key of complete ? [...known.values()] : []) {
        if (present.get(formatFullName(key)) === key.uid) continue;
        const pause = breathe();
        if (pause !== undefined) await pause;
        if (signal.aborted) return restarted;
        forget(key);
      }
      for (const item of items) {
        const { key } = item;
        const changed = known.get(formatFullName(key))?.resourceVersion !== key.resourceVersion;
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
