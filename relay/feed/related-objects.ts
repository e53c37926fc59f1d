import { isDeepStrictEqual } from "node:util";
import type { Related } from "#core/controller.ts";
import { keyOfName, type Resource } from "#core/resources/resource.ts";
import type { Projection } from "#delivery/related-of-batch.ts";
import type { ObjectKey } from "#kube/follow/object-key.ts";
import { isOlderVersion } from "#kube/follow/resource-version.ts";
import type { FeedSubscriber } from "#relay/feed/resource-feed.ts";

/** The related objects of one resource, as far as one controller's decisions read them. */
export interface RelatedObjects {
  readonly resource: Resource;
  readonly subscriber: FeedSubscriber;
  /** Whether all there are have been seen: before that, nothing is known to be absent. */
  isComplete(): boolean;
  /** The newest version that was seen of any of them. */
  resourceVersion(): string;
  /** By `keyOfName`. */
  readonly projections: ReadonlyMap<string, Projection>;
}

/** Where nothing was ever seen, as there is nothing. */
const NO_VERSION = "0";

/**
 * Keeps the projections. `onChange` is called for each that comes, goes or changes in a way that concerns its readers, once the first
 * list is complete, and `onComplete` when it is.
 */
export function createRelatedObjects(
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

  /** A list tells its objects in the order of their names. */
  function newest({ resourceVersion }: ObjectKey): void {
    if (version === NO_VERSION || isOlderVersion(version, resourceVersion)) version = resourceVersion;
  }

  const subscriber: FeedSubscriber = {
    read: (object) => project(object),
    applied(value, key) {
      newest(key);
      set(keyOfName(key), value);
    },
    deleted(key) {
      newest(key);
      set(keyOfName(key), undefined);
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
