import { MAX_BATCH_OBJECTS } from "#core/event.ts";
import type { Queue } from "#relay/work/pending.ts";

/** What a queue looks like to whoever decides whether a batch closes now. */
export interface QueueState {
  readonly ready: number;
  /** When the one that has waited longest became ready, in milliseconds. */
  readonly oldestMs: number;
  /** When the last one became ready. */
  readonly newestMs: number;
  /** When the batch before this one closed; undefined where there was none. */
  readonly closedMs: number | undefined;
  /** How far apart batches that are not full should be, as the cloud account's quotas are short; 0 where they are not. */
  readonly spacingMs: number;
  readonly freeSlots: number;
  readonly nowMs: number;
}

/** How long batches of a queue wait for more, in milliseconds. */
export interface Linger {
  /** A batch waits for others at most this long while an invocation could carry it … */
  readonly lingerMs: number;
  /** … and no longer than this after its last arrival, unless batches come one upon the other. */
  readonly quietMs: number;
  /** They do where the one before closed less than this ago: then more is coming, and a call to the cloud is worth the wait. */
  readonly busyMs: number;
}

/**
 * By queue. Work: a node that comes alone waits 5 ms; of a stream of nodes, however fast, no more than 20 batches a second
 * are made that are not full, as EC2's quota is 20 calls a second. The first look goes
 * at once, those that follow share an invocation: every node has one within a minute of its initialization.
 */
export const LINGER: Readonly<Record<Queue, Linger>> = {
  work: { lingerMs: 50, quietMs: 5, busyMs: 100 },
  look: { lingerMs: 2_000, quietMs: 5, busyMs: 4_000 },
};

/** Milliseconds until a batch closes: 0 is now, undefined is not before something changes. */
export function closesInMs(queue: QueueState, linger: Linger): number | undefined {
  if (queue.ready === 0 || queue.freeSlots <= 0) return undefined;
  if (queue.ready >= MAX_BATCH_OBJECTS) return 0;
  const { oldestMs, newestMs, closedMs = Number.NEGATIVE_INFINITY } = queue;
  const lingeredMs = oldestMs + linger.lingerMs;
  const isBusy = oldestMs - closedMs < linger.busyMs;
  const closesAtMs = isBusy ? lingeredMs : Math.min(lingeredMs, newestMs + linger.quietMs);
  return Math.max(0, Math.max(closesAtMs, closedMs + queue.spacingMs) - queue.nowMs);
}
