import type { Transport } from "#kube/client/transport.ts";
import { listPage } from "#kube/follow/list.ts";
import { keyOf, type ObjectKey } from "#kube/follow/watch.ts";

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

/** Reads named objects, a few at a time, each at most once however often it is asked for meanwhile. */
export interface Reader {
  add(objects: readonly { readonly name: string }[]): void;
}

const MAX_READS = 4;

/** A reader that lists with a field selector, so that the relay needs no permission but to list and watch. */
export function createReader({ transport, path, signal, onRead }: ReaderOptions): Reader {
  const waiting = new Set<string>();
  let reading = 0;

  async function readOn(): Promise<void> {
    reading += 1;
    for (const name of waiting) {
      if (signal.aborted) break;
      waiting.delete(name);
      const result = await read(name);
      if (!signal.aborted) onRead(name, result);
    }
    reading -= 1;
  }

  async function read(name: string): Promise<ReadResult> {
    const page = await listPage(transport, path, undefined, signal, {
      fieldSelector: `metadata.name=${name}`,
    });
    if (page.kind === "failed") return page;
    const object = page.kind === "page" ? page.items[0] : undefined;
    const key = keyOf(object);
    if (key === undefined) return { kind: "gone" };
    return { kind: "object", key, object: object as Readonly<Record<string, unknown>> };
  }

  return {
    add(objects) {
      for (const { name } of objects) waiting.add(name);
      while (reading < Math.min(MAX_READS, waiting.size)) void readOn();
    },
  };
}
