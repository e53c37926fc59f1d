import { collectionPath, keyOfName, type ObjectName, type Resource } from "#core/resources/resource.ts";
import type { Transport } from "#kube/client/transport.ts";
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
  readonly signal: AbortSignal;
  readonly onRead: (name: ObjectName, result: ReadResult) => void;
}

/** Reads named objects, a few at a time, each at most once however often it is asked for meanwhile. */
export interface Reader {
  add(objects: readonly ObjectName[]): void;
}

const MAX_READS = 4;

/** A reader that lists with a field selector, so that the relay needs no permission but to list and watch. */
export function createReader({ transport, resource, signal, onRead }: ReaderOptions): Reader {
  const waiting = new Map<string, ObjectName>();
  let reading = 0;

  async function readOn(): Promise<void> {
    reading += 1;
    for (const [key, name] of waiting) {
      if (signal.aborted) break;
      waiting.delete(key);
      const result = await read(name);
      if (!signal.aborted) onRead(name, result);
    }
    reading -= 1;
  }

  async function read(name: ObjectName): Promise<ReadResult> {
    const page = await listByName(transport, collectionPath(resource), name, signal);
    if (page.kind === "failed") return page;
    const object = page.kind === "page" ? page.items[0] : undefined;
    const key = keyOf(object);
    if (key === undefined) return { kind: "gone" };
    return { kind: "object", key, object: object as Readonly<Record<string, unknown>> };
  }

  return {
    add(objects) {
      if (objects.length === 0) return;
      for (const { namespace, name } of objects)
        waiting.set(keyOfName({ namespace, name }), namespace === undefined ? { name } : { namespace, name });
      // Several may ask for the same one, one after another.
      queueMicrotask(() => {
        while (reading < Math.min(MAX_READS, waiting.size)) void readOn();
      });
    },
  };
}
