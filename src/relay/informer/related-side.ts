import { isDeepStrictEqual } from "node:util";
import { formatObjectKey, type Resource } from "#core/resources/resource.ts";
import type { ApiObject, Related, Watch } from "#core/watch.ts";
import type { Projection } from "#delivery/related-batch.ts";
import type { Clock } from "#kube/follow/clock.ts";
import { isOlderVersion, type ObjectKey } from "#kube/follow/object-key.ts";
import type { InformerSubscriber } from "#relay/informer/informer.ts";

/** The related objects that a controller reads, and an index of the objects that depend on them. */
export interface RelatedSide {
  readonly sources: readonly RelatedSource[];
  /** Returns whether all related objects are known; before that the relay sends no batch. */
  isComplete(): boolean;
  /** Records an object that needs work, or that is resynced when related objects change. */
  track(uid: string, snapshot: ApiObject): void;
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
  /** Called with the uids of the objects that depend on a changed related object. */
  readonly onChange: (uids: Iterable<string>) => void;
  readonly onComplete: () => void;
}

/**
 * How long changes of related objects are collected after the first one: a node that joins changes several times in
 * a second.
 */
const COLLECT_MS = 1_000;

/** If more changes follow, as when many nodes join, collecting continues until none arrives for this long. */
const QUIET_MS = 300;

/** The longest time of collecting after the first change. */
const LONGEST_MS = 3_000;

/**
 * Keeps the related objects of a controller, and reports which objects a change affects. It reports several changes
 * together: at the earliest one second after the first.
 */
export function createRelatedSide({ related, clock, onChange, onComplete }: RelatedSideOptions): RelatedSide {
  const readers = related.map(() => createReaders());
  const changed = related.map(() => new Set<string>());
  let cancelTimer: (() => void) | undefined;
  /** When the first and the last collected change arrived. */
  let firstMs = 0;
  let lastMs = 0;

  const sources = related.map((each, index): RelatedSource => {
    const objects = createRelatedObjects(each, (key) => collect(index, key), onComplete);
    return { related: each, objects };
  });

  function collect(index: number, key: string): void {
    changed[index]?.add(key);
    lastMs = clock.now();
    if (cancelTimer !== undefined) return;
    firstMs = lastMs;
    cancelTimer = clock.after(COLLECT_MS, reportChanges);
  }

  function reportChanges(): void {
    const quietAtMs = Math.min(lastMs + QUIET_MS, firstMs + LONGEST_MS);
    const waitMs = quietAtMs - clock.now();
    if (waitMs > 0) {
      cancelTimer = clock.after(waitMs, reportChanges);
      return;
    }
    cancelTimer = undefined;
    const affected = new Set<string>();
    for (const [index, keys] of changed.entries()) {
      for (const key of keys) addReaders(affected, readers[index], key);
      keys.clear();
    }
    onChange(affected);
  }

  return {
    sources,
    isComplete: () => sources.every(({ objects }) => objects.isComplete()),
    track(uid, snapshot) {
      for (const [index, each] of related.entries()) readers[index]?.set(uid, each.reads(snapshot));
    },
    forget(uid) {
      for (const each of readers) each.delete(uid);
    },
    close: () => cancelTimer?.(),
  };
}

function addReaders(uids: Set<string>, readers: Readers | undefined, key: string): void {
  for (const uid of readers?.find(key) ?? []) uids.add(uid);
}

/** An index from the key of a related object to the uids of the objects that read it. */
interface Readers {
  /** Sets what an object reads from now on. */
  set(uid: string, reads: "all" | readonly string[]): void;
  delete(uid: string): void;
  /** Returns the uids of the objects that read this key. */
  find(key: string): Iterable<string>;
}

/**
 * Creates an index in both directions. It holds the added objects and the keys that they read, and no other key.
 */
export function createReaders(): Readers {
  const readsByUid = new Map<string, "all" | readonly string[]>();
  const readersByKey = new Map<string, Set<string>>();
  const allReaders = new Set<string>();

  function forget(uid: string): void {
    const reads = readsByUid.get(uid);
    if (reads === undefined) return;
    readsByUid.delete(uid);
    if (reads === "all") allReaders.delete(uid);
    else for (const key of reads) forgetReader(key, uid);
  }

  function forgetReader(key: string, uid: string): void {
    const readers = readersByKey.get(key);
    readers?.delete(uid);
    if (readers?.size === 0) readersByKey.delete(key);
  }

  return {
    set(uid, reads) {
      if (isSame(readsByUid.get(uid), reads)) return;
      forget(uid);
      readsByUid.set(uid, reads);
      if (reads === "all") allReaders.add(uid);
      else {
        for (const key of reads) {
          const readers = readersByKey.get(key) ?? new Set();
          readersByKey.set(key, readers.add(uid));
        }
      }
    },
    delete: forget,
    *find(key) {
      yield* allReaders;
      yield* readersByKey.get(key) ?? [];
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
  /** Returns whether the first list is complete; before that, no object is known to be missing. */
  isComplete(): boolean;
  /** Returns the newest resource version of these objects. */
  resourceVersion(): string;
  /** By `formatObjectKey`. */
  readonly projections: ReadonlyMap<string, Projection>;
}

/** The version before the first object. */
const NO_VERSION = "0";

/**
 * Keeps the projections. It calls `onComplete` when the first list is complete. After that it calls `onChange` for
 * each object whose addition, deletion or change concerns its readers.
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
  function recordVersion({ resourceVersion }: ObjectKey): void {
    if (version === NO_VERSION || isOlderVersion(version, resourceVersion)) version = resourceVersion;
  }

  const subscriber: InformerSubscriber = {
    read: (object) => project(object),
    applied(value, key) {
      recordVersion(key);
      set(formatObjectKey(key), value);
    },
    deleted(key) {
      recordVersion(key);
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
