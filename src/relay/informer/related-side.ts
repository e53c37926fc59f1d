import { isDeepStrictEqual } from "node:util";
import { formatObjectKey, type Resource } from "#core/resources/resource.ts";
import type { ApiObject, Related, Watch } from "#core/watch.ts";
import type { Projection } from "#delivery/related-batch.ts";
import type { Clock } from "#kube/follow/clock.ts";
import { isOlderVersion, type ObjectKey } from "#kube/follow/object-key.ts";
import type { InformerSubscriber } from "#relay/informer/informer.ts";

/** What a controller reads of other resources, and which of its objects depend on that. */
export interface RelatedSide {
  readonly sources: readonly RelatedSource[];
  /** Returns whether all related objects are known; nothing is decided before. */
  isComplete(): boolean;
  /** Records an object that needs work, or that is resynced when related objects change. */
  needs(uid: string, snapshot: ApiObject): void;
  /** Drops an object that does not depend on related objects, or that is gone. */
  forget(uid: string): void;
  close(): void;
}

/** One of a controller's related resources. */
export interface RelatedSource {
  readonly related: Watch["related"][number];
  readonly objects: RelatedObjects;
}

export interface RelatedSideOptions {
  readonly related: Watch["related"];
  readonly clock: Clock;
  /** Called with the uids of the objects that read what changed. */
  readonly onChange: (uids: Iterable<string>) => void;
  readonly onComplete: () => void;
}

/**
 * Changes of related objects are gathered for this long: a node that joins is written several times in a
 * second.
 */
const GATHER_MS = 1_000;

/** … and if more follow, as when nodes are added together, until none arrives for this long … */
const QUIET_MS = 300;

/** … but no longer than this. */
const LONGEST_MS = 3_000;

/**
 * Keeps the related objects of a controller and reports which objects a change affects. It reports a second
 * after the first change of several, and when they end.
 */
export function createRelatedSide({ related, clock, onChange, onComplete }: RelatedSideOptions): RelatedSide {
  const readers = related.map(() => createReaders());
  const changed = related.map(() => new Set<string>());
  let cancelTimer: (() => void) | undefined;
  /** When the first and the last gathered change arrived. */
  let firstMs = 0;
  let lastMs = 0;

  const sources = related.map((each, index): RelatedSource => {
    const objects = createRelatedObjects(each, (key) => gather(index, key), onComplete);
    return { related: each, objects };
  });

  function gather(index: number, key: string): void {
    changed[index]?.add(key);
    lastMs = clock.now();
    if (cancelTimer !== undefined) return;
    firstMs = lastMs;
    cancelTimer = clock.after(GATHER_MS, tell);
  }

  function tell(): void {
    const quietAtMs = Math.min(lastMs + QUIET_MS, firstMs + LONGEST_MS);
    const waitMs = quietAtMs - clock.now();
    if (waitMs > 0) {
      cancelTimer = clock.after(waitMs, tell);
      return;
    }
    cancelTimer = undefined;
    const concerned = new Set<string>();
    for (const [index, keys] of changed.entries()) {
      for (const key of keys) addReaders(concerned, readers[index], key);
      keys.clear();
    }
    onChange(concerned);
  }

  return {
    sources,
    isComplete: () => sources.every(({ objects }) => objects.isComplete()),
    needs(uid, snapshot) {
      for (const [index, each] of related.entries()) readers[index]?.set(uid, each.reads(snapshot));
    },
    forget(uid) {
      for (const each of readers) each.delete(uid);
    },
    close: () => cancelTimer?.(),
  };
}

function addReaders(uids: Set<string>, readers: Readers | undefined, key: string): void {
  for (const uid of readers?.of(key) ?? []) uids.add(uid);
}

/** An index from the key of a related object to the uids of the objects that read it. */
interface Readers {
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

/** The related objects of one resource, as one controller's decisions read them. */
interface RelatedObjects {
  readonly resource: Resource;
  readonly subscriber: InformerSubscriber;
  /** Returns whether all objects were seen; before that, no object is known to be missing. */
  isComplete(): boolean;
  /** Returns the newest version that was seen of any of them. */
  resourceVersion(): string;
  /** By `formatObjectKey`. */
  readonly projections: ReadonlyMap<string, Projection>;
}

/** The version when no object was ever seen. */
const NO_VERSION = "0";

/**
 * Keeps the projections. After the first list is complete, `onChange` is called for each object that comes,
 * goes or changes for its readers. `onComplete` is called when that list is complete.
 */
function createRelatedObjects(
  { resource, project, concerns }: Pick<Related, "resource" | "project" | "concerns">,
  onChange: (key: string) => void,
  onComplete: () => void,
): RelatedObjects {
  const projections = new Map<string, Projection>();
  let complete = false;
  let version = NO_VERSION;

  function set(key: string, value: unknown): void {
    const before = projections.get(key);
    if (value === undefined ? before === undefined : isDeepStrictEqual(before?.value, value)) return;
    if (value === undefined) projections.delete(key);
    else projections.set(key, { value, bytes: Buffer.byteLength(JSON.stringify(value)) + 1 });
    if (complete && concerns?.(before?.value, value) !== false) onChange(key);
  }

  /** Keeps the newest version: a list reports objects in the order of their names. */
  function newest({ resourceVersion }: ObjectKey): void {
    if (version === NO_VERSION || isOlderVersion(version, resourceVersion)) version = resourceVersion;
  }

  const subscriber: InformerSubscriber = {
    read: (object) => project(object),
    applied(value, key) {
      newest(key);
      set(formatObjectKey(key), value);
    },
    deleted(key) {
      newest(key);
      set(formatObjectKey(key), undefined);
    },
    restarted() {
      version = NO_VERSION;
    },
    listed() {
      if (complete) return;
      complete = true;
      onComplete();
    },
  };

  return {
    resource,
    subscriber,
    isComplete: () => complete,
    resourceVersion: () => version,
    projections,
  };
}
