import { collectionPath, keyOfName, type ObjectName, type Resource } from "#core/resources/resource.ts";
import { untilAborted } from "#kube/client/on-abort.ts";
import { createSlots } from "#kube/client/slots.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { FollowBounds } from "#kube/follow/bounds.ts";
import { listByName } from "#kube/follow/list.ts";
import { keyOf, type ObjectKey } from "#kube/follow/object-key.ts";

/** What reading one object by name came to. */
export type ReadResult =
  | { readonly kind: "object"; readonly key: ObjectKey; readonly object: Readonly<Record<string, unknown>> }
  | { readonly kind: "gone" }
  | { readonly kind: "failed"; readonly code: string; readonly message: string };

export interface ReaderOptions {
  readonly transport: Transport;
  readonly resource: Resource;
  readonly bounds: FollowBounds;
  readonly signal: AbortSignal;
  readonly onRead: (name: ObjectName, result: ReadResult) => void;
}

/** Reads named objects, a few at a time, each at most once however often it is asked for meanwhile. */
export interface Reader {
  add(objects: readonly ObjectName[]): void;
}

const MAX_READS = 4;

/** More of them than there are objects of a cluster; one that finds no room is asked for again when its wait is over. */
const MAX_WAITING = 10_000;

/** A reader that lists with a field selector, so that the relay needs no permission but to list and watch. */
export function createReader({ transport, resource, bounds, signal, onRead }: ReaderOptions): Reader {
  const waiting = new Set<string>();
  const slots = createSlots(() => MAX_READS, MAX_WAITING);

  async function readInTurn(name: ObjectName): Promise<void> {
    const key = keyOfName(name);
    if (waiting.has(key)) return;
    waiting.add(key);
    const entered = await slots.enter(untilAborted(signal));
    waiting.delete(key);
    if (entered !== "entered") return;
    const result = await read(name);
    slots.leave();
    if (!signal.aborted) onRead(name, result);
  }

  async function read(name: ObjectName): Promise<ReadResult> {
    const page = await listByName(transport, collectionPath(resource), name, signal, bounds);
    if (page.kind === "failed") return page;
    const object = page.kind === "page" ? page.items[0] : undefined;
    const key = keyOf(object);
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
