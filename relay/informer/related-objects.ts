import { isDeepStrictEqual } from "node:util";
import type { Related } from "#core/controller.ts";
import { formatObjectKey, type Resource } from "#core/resources/resource.ts";
import type { Projection } from "#delivery/related-batch.ts";
import type { ObjectKey } from "#kube/follow/object-key.ts";
import { isOlderVersion } from "#kube/follow/resource-version.ts";
import type { InformerSubscriber } from "#relay/informer/informer.ts";

/** The related objects of one resource, as one controller's decisions read them. */
export interface RelatedObjects {
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
