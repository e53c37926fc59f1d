import type { ApiObject, Watch } from "#core/controller.ts";
import type { Clock } from "#kube/follow/clock.ts";
import { createReaders, type Readers } from "#relay/informer/readers.ts";
import { createRelatedObjects, type RelatedObjects } from "#relay/informer/related-objects.ts";

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
