import { MAX_BATCH_BYTES, MAX_BATCH_OBJECTS, MAX_EVENT_BYTES } from "#core/event.ts";

/** Bytes of an event around its objects, rounded up generously. */
const ENVELOPE_BYTES = 2_000;

/** The result of filling one batch. */
export interface Batch<T> {
  readonly objects: readonly T[];
  /** Objects too large for any event. */
  readonly tooLarge: readonly T[];
}

/**
 * Fills one batch from the front of `ready`, up to the limits of an event. An object too large for a shared
 * event goes alone.
 */
export function fillBatch<T extends { readonly snapshot: unknown }>(ready: Iterable<T>): Batch<T> {
  const objects: T[] = [];
  const tooLarge: T[] = [];
  let bytes = 0;
  for (const object of ready) {
    if (objects.length === MAX_BATCH_OBJECTS || tooLarge.length === MAX_BATCH_OBJECTS) break;
    const size = Buffer.byteLength(JSON.stringify(object.snapshot)) + 1;
    if (size > MAX_EVENT_BYTES - ENVELOPE_BYTES) tooLarge.push(object);
    else if (objects.length > 0 && bytes + size > MAX_BATCH_BYTES) break;
    else {
      objects.push(object);
      bytes += size;
    }
  }
  return { objects, tooLarge };
}
