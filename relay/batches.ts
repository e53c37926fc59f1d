import { MAX_BATCH_BYTES, MAX_BATCH_OBJECTS, MAX_EVENT_BYTES } from "#core/event.ts";

/** What a lane looks like to whoever decides whether a batch closes now. */
export interface LaneState {
  readonly ready: number;
  /** When the one that has waited longest became ready, in milliseconds. */
  readonly oldestMs: number;
  /** When the last one became ready. */
  readonly newestMs: number;
  readonly freeSlots: number;
  readonly nowMs: number;
}

/** A batch lingers for others at most this long while an invocation could carry it … */
export const LINGER_MS = 50;

/** … and no longer than this after the last arrival: nothing else is coming then. */
export const QUIET_MS = 5;

/** Milliseconds until a batch closes: 0 is now, undefined is not before something changes. */
export function closesInMs(lane: LaneState): number | undefined {
  if (lane.ready === 0 || lane.freeSlots <= 0) return undefined;
  if (lane.ready >= MAX_BATCH_OBJECTS) return 0;
  const closesAtMs = Math.min(lane.oldestMs + LINGER_MS, lane.newestMs + QUIET_MS);
  return Math.max(0, closesAtMs - lane.nowMs);
}

/** Bytes of an event around its objects, generously. */
const ENVELOPE_BYTES = 2_000;

/** What came of filling one batch. */
export interface Batch<T> {
  readonly objects: readonly T[];
  /** Objects that no event can carry. */
  readonly tooLarge: readonly T[];
}

/** Fills one batch from the front of `ready`: up to the limits of an event, and an object that is too large alone goes alone. */
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
