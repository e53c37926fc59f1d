import type { Clock } from "#kube/follow/clock.ts";

/**
 * How fast the watches of one cluster may bring events, together: so many a second for long, and a burst that grows with the objects
 * there are, as a cluster that comes up writes each of its nodes a dozen times.
 */
export interface Pace {
  /** Takes an event of so many bytes in: 0 where there is room for it, else milliseconds after which it is to be handled. */
  take(bytes: number): number;
  /** Another object is known, or one less. */
  count(change: 1 | -1): void;
  /** Since when events have waited without a break, if for a while. */
  isHeld(): boolean;
}

const BURST_SECONDS = 10;
const BURST_PER_OBJECT = 8;
/** An event that is as large as several counts as several. */
const BYTES_PER_EVENT = 16 * 1024;
/** Waits are of many events together. */
const SHORTEST_WAIT_MS = 20;
/** Waiting for so long is not a burst any more … */
const HELD_AFTER_MS = 5_000;
/** … and nothing that waited for so long is the end of it. */
const RELEASED_AFTER_MS = 2_000;

/** Begins with a full burst. */
export function createPace(clock: Clock, eventsPerSecond: number): Pace {
  let room = eventsPerSecond * BURST_SECONDS;
  let burst = room;
  let seenMs = clock.now();
  let known = 0;
  let mostKnown = 0;
  let waitingSinceMs = 0;
  let waitedMs = Number.NEGATIVE_INFINITY;

  return {
    take(bytes) {
      const nowMs = clock.now();
      room = Math.min(burst, room + ((nowMs - seenMs) / 1_000) * eventsPerSecond);
      seenMs = nowMs;
      room -= Math.max(1, bytes / BYTES_PER_EVENT);
      const debtMs = (-room / eventsPerSecond) * 1_000;
      if (debtMs < SHORTEST_WAIT_MS) return 0;
      if (nowMs - waitedMs > RELEASED_AFTER_MS) waitingSinceMs = nowMs;
      waitedMs = nowMs + debtMs;
      return debtMs;
    },
    count(change) {
      known += change;
      if (known <= mostKnown) return;
      // Only ever for more than there were: objects that come and go give no room.
      mostKnown = known;
      burst += BURST_PER_OBJECT;
      room += BURST_PER_OBJECT;
    },
    isHeld() {
      const nowMs = clock.now();
      return nowMs - waitingSinceMs >= HELD_AFTER_MS && nowMs - waitedMs <= RELEASED_AFTER_MS;
    },
  };
}
