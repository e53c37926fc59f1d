import type { FollowBounds, LimitsInForce } from "#kube/follow/bounds.ts";
import {
  createMalformedObjects,
  getMetadata,
  isVersion,
  type MalformedNote,
  type ObjectKey,
  parseObjectKey,
} from "#kube/follow/object-key.ts";
import {
  createObjectStore,
  LARGEST_OBJECT_BYTES,
  type ListChanges,
  type ListedObject,
  type ObjectStoreHandler,
} from "#kube/follow/object-store.ts";
import { limitMet, type RequestFailure } from "#kube/follow/request-failure.ts";
import type { WatchRateLimiter } from "#kube/follow/watch-rate-limiter.ts";
import type { WatchEvent } from "#kube/follow/watch-window.ts";

export interface FollowedObjectsOptions<T> {
  readonly handler: ObjectStoreHandler<T> & { note(note: MalformedNote): void };
  readonly limits: LimitsInForce;
  readonly path: string;
  readonly bounds: FollowBounds;
  readonly pace: WatchRateLimiter;
  /** Returns the fields of an object that the caller needs. */
  readonly project: (object: Readonly<Record<string, unknown>>) => T;
}

/** The followed objects of a resource, up to the limit. Further ones are left out until there is room. */
export interface FollowedObjects<T> {
  count(): number;
  /**
   * Whether the server's number of objects differs from the followed ones; false if the last list was not
   * followed completely.
   */
  differsFrom(objects: number | undefined): boolean;
  /** Whether there is room for objects that were left out. */
  mayHaveRoom(): boolean;
  /** Starts one list or one watch. */
  begin(): FollowRequest<T>;
}

/** The data of one list or watch. */
export interface FollowRequest<T> {
  /** Returns what to keep of a listed object, given the number already kept. */
  take(object: unknown, kept: number): ListedObject<T> | undefined;
  /** Replaces the store by the kept list; returns whether a new history has begun. */
  replace(listed: ListChanges<T>, signal: AbortSignal): Promise<boolean>;
  /** Applies a watch event and returns its version; undefined if it had no effect. */
  event(event: WatchEvent): string | undefined;
  /** Returns why the request must be ended, if so. */
  failure(): RequestFailure | undefined;
  end(): void;
}

export function createFollowedObjects<T>(options: FollowedObjectsOptions<T>): FollowedObjects<T> {
  const { handler, limits, path, bounds, pace } = options;
  const known = createObjectStore(
    handler,
    { maxObjects: bounds.objects, maxBytes: bounds.objectBytes },
    (change) => pace.count(change),
  );
  /** Existing objects, as far as known, that are not followed; each list recounts them. */
  let leftOut = 0;
  /** Objects of the last list that cannot be read. */
  let unread = 0;

  function countLeftOut(change: number): void {
    leftOut = Math.max(0, leftOut + change);
    const most = `${bounds.objects} objects, or ${bounds.objectBytes} bytes of them`;
    const message = `${path} has more than ${most}; those beyond are left out until there is room`;
    if (leftOut === 0) limits.lift("objects");
    else limits.enter("objects", message);
  }

  return {
    count: () => known.count,
    differsFrom: (objects) =>
      objects !== undefined && leftOut === 0 && unread === 0 && objects !== known.count,
    mayHaveRoom: () => leftOut > 0 && known.count < bounds.objects,
    begin() {
      const malformed = createMalformedObjects(path, (note) => handler.note(note));
      /** Objects of a list that exceeded the room. */
      let beyond = 0;
      let keptBytes = 0;

      function read(object: unknown, key: ObjectKey): ListedObject<T> {
        const read = options.project(object as Readonly<Record<string, unknown>>);
        return { key, object: read, bytes: estimateSize(read) };
      }

      function tooMany(): RequestFailure | undefined {
        if (malformed.count <= bounds.malformedObjects) return undefined;
        const what = `the watch of ${path} brought more than ${bounds.malformedObjects} malformed objects`;
        return limitMet("malformedObjects", `${what}; see who writes them`);
      }

      return {
        failure: tooMany,
        end: () => malformed.end(),
        take(object, kept) {
          // The list restarted: an object can exceed the limit only after the limit's number is kept.
          if (kept === 0) {
            beyond = 0;
            keptBytes = 0;
          }
          const key = parseObjectKey(object);
          if (key === undefined) {
            malformed.add(object);
            return undefined;
          }
          // If all known objects are gone, there is room for as many others.
          if (kept >= bounds.objects && !known.isKnown(key)) {
            beyond += 1;
            return undefined;
          }
          const listed = read(object, key);
          if (listed.bytes > LARGEST_OBJECT_BYTES || keptBytes + listed.bytes > bounds.objectBytes) {
            beyond += 1;
            return undefined;
          }
          keptBytes += listed.bytes;
          return listed;
        },
        async replace(listed, signal) {
          const restarted = await known.replace(listed, signal);
          unread = malformed.count;
          const refused = listed.items.filter(({ key }) => !known.isKnown(key)).length;
          // An endless list has more objects than it shows.
          countLeftOut(beyond + refused + (listed.complete ? 0 : 1) - leftOut);
          return restarted;
        },
        event({ type, object }) {
          if (type === "BOOKMARK") {
            const seen = getMetadata(object)["resourceVersion"];
            if (isVersion(seen)) return seen;
            malformed.add(object);
            return undefined;
          }
          const key = parseObjectKey(object);
          if (key === undefined) {
            malformed.add(object);
            return undefined;
          }
          if (type === "DELETED") {
            if (!known.forget(key) && !known.isKnown(key)) countLeftOut(-1);
          } else if (known.isKnown(key) || known.count < bounds.objects) {
            const isNew = !known.isKnown(key);
            const isTaken = known.apply(read(object, key));
            if (isTaken && isNew && type === "MODIFIED") countLeftOut(-1);
            if (!isTaken && (!isNew || type === "ADDED" || leftOut === 0)) countLeftOut(1);
          } else if (type === "ADDED") countLeftOut(1);
          return key.resourceVersion;
        },
      };
    },
  };
}

/** Estimates the bytes of keeping a value as JSON; a value that cannot be serialized is too large. */
function estimateSize(value: unknown): number {
  try {
    return JSON.stringify(value)?.length ?? 0;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
