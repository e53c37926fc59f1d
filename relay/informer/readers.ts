/** An index from the key of a related object to the uids of the objects that read it. */
export interface Readers {
  /** Sets what an object reads from now on. */
  set(uid: string, reads: "all" | readonly string[]): void;
  delete(uid: string): void;
  /** Returns the uids of the objects that read this key. */
  of(key: string): Iterable<string>;
}

/**
 * Creates an index in both directions. It holds its objects and the keys that they read, and no other key.
 */
export function createReaders(): Readers {
  const readsOf = new Map<string, "all" | readonly string[]>();
  const readersOf = new Map<string, Set<string>>();
  const readersOfAll = new Set<string>();

  function forget(uid: string): void {
    const reads = readsOf.get(uid);
    if (reads === undefined) return;
    readsOf.delete(uid);
    if (reads === "all") readersOfAll.delete(uid);
    else for (const key of reads) forgetReader(key, uid);
  }

  function forgetReader(key: string, uid: string): void {
    const readers = readersOf.get(key);
    readers?.delete(uid);
    if (readers?.size === 0) readersOf.delete(key);
  }

  return {
    set(uid, reads) {
      if (isSame(readsOf.get(uid), reads)) return;
      forget(uid);
      readsOf.set(uid, reads);
      if (reads === "all") readersOfAll.add(uid);
      else {
        for (const key of reads) {
          const readers = readersOf.get(key) ?? new Set();
          readersOf.set(key, readers.add(uid));
        }
      }
    },
    delete: forget,
    *of(key) {
      yield* readersOfAll;
      yield* readersOf.get(key) ?? [];
    },
  };
}

function isSame(before: "all" | readonly string[] | undefined, now: "all" | readonly string[]): boolean {
  if (before === "all" || now === "all" || before === undefined) return before === now;
  return before.length === now.length && before.every((key, index) => key === now[index]);
}
