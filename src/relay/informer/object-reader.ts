import {
  formatCollectionPath,
  formatObjectKey,
  type ObjectName,
  type Resource,
} from "#core/resources/resource.ts";
import { createSemaphore } from "#kube/client/semaphore.ts";
import { createAbortPatience } from "#kube/client/time-limit.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { FollowBounds } from "#kube/follow/bounds.ts";
import { listByName } from "#kube/follow/list.ts";
import { type ObjectKey, parseObjectKey } from "#kube/follow/object-key.ts";

/** The result of reading one object by name. */
export type ReadResult =
  | { readonly kind: "object"; readonly key: ObjectKey; readonly object: Readonly<Record<string, unknown>> }
  | { readonly kind: "gone" }
  | { readonly kind: "failed"; readonly code: string; readonly message: string };

interface ObjectReaderOptions {
  readonly transport: Transport;
  readonly resource: Resource;
  readonly bounds: FollowBounds;
  readonly signal: AbortSignal;
  readonly onRead: (name: ObjectName, result: ReadResult) => void;
}

/** Reads named objects, a few at a time, each at most once however often it is requested meanwhile. */
export interface ObjectReader {
  add(objects: readonly ObjectName[]): void;
}

const MAX_READS = 4;

/** More than the objects of a cluster. An object that finds no room is requested again when its wait ends. */
const MAX_WAITING = 10_000;

/**
 * Creates a reader that lists with a field selector, so that the relay needs permission only to list and
 * watch.
 */
export function createObjectReader(options: ObjectReaderOptions): ObjectReader {
  const { transport, resource, bounds, signal, onRead } = options;
  const waiting = new Set<string>();
  const permits = createSemaphore(() => MAX_READS, MAX_WAITING);

  async function readInTurn(name: ObjectName): Promise<void> {
    const key = formatObjectKey(name);
    if (waiting.has(key)) return;
    waiting.add(key);
    const entered = await permits.acquire(createAbortPatience(signal));
    waiting.delete(key);
    if (entered !== "entered") return;
    const result = await read(name);
    permits.release();
    if (!signal.aborted) onRead(name, result);
  }

  async function read(name: ObjectName): Promise<ReadResult> {
    const page = await listByName(transport, formatCollectionPath(resource), name, signal, bounds);
    if (page.kind === "failed") return page;
    const object = page.kind === "page" ? page.items[0] : undefined;
    const key = parseObjectKey(object);
    if (key === undefined) return { kind: "gone" };
    return { kind: "object", key, object: object as Readonly<Record<string, unknown>> };
  }

  return {
    add(objects) {
      for (const { namespace, name } of objects)
        void readInTurn(namespace === undefined ? { name } : { namespace, name });
    },
  };
}
