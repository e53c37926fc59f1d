import type { ObjectName } from "#kube/client/resource-path.ts";
import type { Transport } from "#kube/client/transport.ts";
import { listByName } from "#kube/follow/list.ts";
import { fullNameOf, keyOf, type ObjectKey } from "#kube/follow/object-key.ts";

/** What reading one object by name came to. */
export type ReadResult =
  | { readonly kind: "object"; readonly key: ObjectKey; readonly object: Readonly<Record<string, unknown>> }
  | { readonly kind: "gone" }
  | { readonly kind: "failed"; readonly code: string; readonly message: string };

export interface ReaderOptions {
  readonly transport: Transport;
  readonly path: string;
  readonly signal: AbortSignal;
  readonly onRead: (name: string, result: ReadResult) => void;
}

type NamedObject = Pick<ObjectKey, "name" | "namespace">;

/** Reads named objects, a few at a time, each at most once however often it is asked for meanwhile. */
export interface Reader {
  add(objects: readonly NamedObject[]): void;
}

const MAX_READS = 4;

/** A reader that lists with a field selector, so that the relay needs no permission but to list and watch. */
export function createReader({ transport, path, signal, onRead }: ReaderOptions): Reader {
  const waiting = new Map<string, NamedObject>();
  let reading = 0;

  async function readOn(): Promise<void> {
    reading += 1;
    for (const [fullName, object] of waiting) {
      if (signal.aborted) break;
      waiting.delete(fullName);
      const result = await read(object);
      if (!signal.aborted) onRead(object.name, result);
    }
    reading -= 1;
  }

  async function read(name: ObjectName): Promise<ReadResult> {
    const page = await listByName(transport, path, name, signal);
    if (page.kind === "failed") return page;
    const object = page.kind === "page" ? page.items[0] : undefined;
    const key = keyOf(object);
    if (key === undefined) return { kind: "gone" };
    return { kind: "object", key, object: object as Readonly<Record<string, unknown>> };
  }

  return {
    add(objects) {
      for (const object of objects) waiting.set(fullNameOf(object), object);
      while (reading < Math.min(MAX_READS, waiting.size)) void readOn();
    },
  };
}
