import { MAX_BATCH_OBJECTS } from "#core/event.ts";
import type { Queue } from "#relay/work/types.ts";

/** The state of a queue, as the decision needs it whether a batch closes now. */
export interface QueueState {
  readonly ready: number;
  /** When the longest waiting object became ready, in milliseconds. */
  readonly oldestMs: number;
  /** When the newest object became ready. */
  readonly newestMs: number;
  /** When the previous batch closed; undefined before the first. */
  readonly closedMs: number | undefined;
  /**
   * The spacing between batches that are not full while the cloud account's quotas are short; otherwise 0.
   */
  readonly spacingMs: number;
  readonly freeSlots: number;
  readonly nowMs: number;
}

/** How long the batches of a queue wait for more objects, in milliseconds. */
export interface Linger {
  /** The longest time that a batch waits for more objects while a permit is free. */
  readonly lingerMs: number;
  /** The longest time that it waits after its last object arrived, unless batches follow closely. */
  readonly quietMs: number;
  /**
   * Batches follow closely if the previous one closed less than this ago. Then more will come, and a call to
   * the cloud is worth the wait.
   */
  readonly busyMs: number;
}

/**
 * The linger of each queue.
 *
 * A node that comes alone waits 5 ms. A stream of nodes makes at most 20 batches a second that are not full,
 * because EC2's quota is 20 calls a second. The first resync goes at once and later ones share an invocation:
 * every node is resynced within a minute of its initialization.
 */
export const LINGER: Readonly<Record<Queue, Linger>> = {
  work: { lingerMs: 50, quietMs: 5, busyMs: 100 },
  look: { lingerMs: 2_000, quietMs: 5, busyMs: 4_000 },
};

/** Returns milliseconds until a batch closes. 0 means now; undefined means not before something changes. */
export function getCloseDelayMs(queue: QueueState, linger: Linger): number | undefined {
  if (queue.ready === 0 || queue.freeSlots <= 0) return undefined;
  if (queue.ready >= MAX_BATCH_OBJECTS) return 0;
  const { oldestMs, newestMs, closedMs = Number.NEGATIVE_INFINITY } = queue;
  const lingeredMs = oldestMs + linger.lingerMs;
  const isBusy = oldestMs - closedMs < linger.busyMs;
  const closesAtMs = isBusy ? lingeredMs : Math.min(lingeredMs, newestMs + linger.quietMs);
  return Math.max(0, Math.max(closesAtMs, closedMs + queue.spacingMs) - queue.nowMs);
}
