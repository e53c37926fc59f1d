import type { FollowBounds } from "#kube/follow/bounds.ts";
import {
  createKnownObjects,
  type KnownObjectsHandler,
  LARGEST_OBJECT_BYTES,
  type Listed,
  type ListedObject,
} from "#kube/follow/known-objects.ts";
import type { LimitsInForce } from "#kube/follow/limits-in-force.ts";
import { createMalformedObjects, type MalformedNote } from "#kube/follow/malformed-objects.ts";
import { isVersion, keyOf, metadataOf, type ObjectKey } from "#kube/follow/object-key.ts";
import type { Pace } from "#kube/follow/pace.ts";
import { limitMet, type RequestFailure } from "#kube/follow/request-failure.ts";
import type { WatchEvent } from "#kube/follow/watch-window.ts";

export interface FollowedObjectsOptions<T> {
  readonly handler: KnownObjectsHandler<T> & { note(note: MalformedNote): void };
  readonly limits: LimitsInForce;
  readonly path: string;
  readonly bounds: FollowBounds;
  readonly pace: Pace;
  /** Cuts an object down to what is of use. */
  readonly project: (object: Readonly<Record<string, unknown>>) => T;
}

/** The objects of a resource that are followed: as many as there may be. Those beyond are left out until there is room. */
export interface FollowedObjects<T> {
  count(): number;
  /** Whether so many objects are not what is followed; false where not all that the last list showed is followed. */
  differsFrom(objects: number | undefined): boolean;
  /** Whether there is room for objects that were left out. */
  mayHaveRoom(): boolean;
  /** For one list or one watch. */
  begin(): FollowRequest<T>;
}

/** What one list or watch brings. */
export interface FollowRequest<T> {
  /** Of an object of a list what is to be kept, where so many are kept already. */
  take(object: unknown, kept: number): ListedObject<T> | undefined;
  /** Takes the list over, of what was kept; answers with whether a new history has begun. */
  replace(listed: Listed<T>, signal: AbortSignal): Promise<boolean>;
  /** The version that an event of a watch has brought; undefined where it brought nothing. */
  event(event: WatchEvent): string | undefined;
  /** Why it is to be ended. */
  failure(): RequestFailure | undefined;
  end(): void;
}

export function createFollowedObjects<T>(options: FollowedObjectsOptions<T>): FollowedObjects<T> {
  const { handler, limits, path, bounds, pace } = options;
  const known = createKnownObjects(
    handler,
    { maxObjects: bounds.objects, maxBytes: bounds.objectBytes },
    (change) => pace.count(change),
  );
  /** Objects that are there, by what is known, and not followed; a list counts them anew. */
  let leftOut = 0;
  /** Objects of the last list that cannot be followed. */
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
      /** Objects of a list for which there was no room, whatever else it may show. */
      let beyond = 0;
      let keptBytes = 0;

      function read(object: unknown, key: ObjectKey): ListedObject<T> {
        const read = options.project(object as Readonly<Record<string, unknown>>);
        return { key, object: read, bytes: sizeOf(read) };
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
          // A list that began anew; nothing is beyond before as many are kept as there may be.
          if (kept === 0) {
            beyond = 0;
            keptBytes = 0;
          }
          const key = keyOf(object);
          if (key === undefined) {
            malformed.add(object);
            return undefined;
          }
          // Where all that is known has gone, there is room for as many others.
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
          // Of a list that goes on and on there are more than it shows.
          countLeftOut(beyond + refused + (listed.complete ? 0 : 1) - leftOut);
          return restarted;
        },
        event({ type, object }) {
          if (type === "BOOKMARK") {
            const seen = metadataOf(object)["resourceVersion"];
            if (isVersion(seen)) return seen;
            malformed.add(object);
            return undefined;
          }
          const key = keyOf(object);
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

/** About what keeping it takes, as JSON; what cannot be written out is too large. */
function sizeOf(value: unknown): number {
  try {
    return JSON.stringify(value)?.length ?? 0;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
