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

/** A batch of a queue as it fills, for the choice of its linger. */
export interface FillingBatch {
  readonly queue: Queue;
  /** Whether the controller monitors lasting states (`Rechecks.monitor`). */
  readonly monitors: boolean;
  /** Whether the controller's last invocation asked the cloud; true before the first. */
  readonly asksCloud: boolean;
}

/**
 * Returns the linger of a batch. A node that comes alone waits 5 ms, whatever the linger.
 *
 * A stream of nodes makes at most 20 batches a second that are not full, because EC2's quota is 20 calls a second.
 * If the answers are there before the nodes, a batch has no call to share and waits for those that come together.
 * The first resync goes at once and later ones share an invocation: every node is resynced within a minute of its
 * initialization. Nodes that are not Ready are checked every few seconds, so a second more costs nothing.
 */
export function selectLinger({ queue, monitors, asksCloud }: FillingBatch): Linger {
  if (queue === "look") return LINGER.look;
  if (monitors) return LINGER.monitor;
  return asksCloud ? LINGER.work : LINGER.answered;
}

const LINGER = {
  work: { lingerMs: 50, quietMs: 5, busyMs: 100 },
  answered: { lingerMs: 10, quietMs: 5, busyMs: 100 },
  monitor: { lingerMs: 1_000, quietMs: 5, busyMs: 2_000 },
  look: { lingerMs: 2_000, quietMs: 5, busyMs: 4_000 },
} as const satisfies Readonly<Record<string, Linger>>;

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
