/** A bound on what goes on at the same time, with a bounded queue in front of it. */
export interface Slots {
  /** Resolves with a slot, or says why there is none: those at the front first, each in the order in which they came. */
  enter(patience: Patience, place?: "front" | "back"): Promise<"entered" | "aborted" | "full">;
  /** Gives a slot back; exactly once for each that was had. */
  leave(): void;
  /** To be called when the limit has grown other than by `leave`. */
  admit(): void;
}

/** How long somebody waits: a time limit, or a signal (`untilAborted`). */
export interface Patience {
  reached(): boolean;
  /** Calls the listener when it is reached, at once where it is already; returns what takes the listener back. */
  onReached(listener: () => void): () => void;
}

/** The patience of who waits for as long as it takes. */
export const FOR_EVER: Patience = { reached: () => false, onReached: () => () => {} };

/** Acts on each item, on at most so many at the same time, in their order; resolves or rejects as each does. */
export function startAtMost<Item, Result>(
  most: number,
  items: readonly Item[],
  act: (item: Item) => Promise<Result>,
): readonly Promise<Result>[] {
  const slots = createSlots(() => most, items.length);
  return items.map(async (item) => {
    await slots.enter(FOR_EVER);
    try {
      return await act(item);
    } finally {
      slots.leave();
    }
  });
}

/** `limit` is asked each time, as it may change: 0 closes, and who is in stays in. At most `maxQueued` wait. */
export function createSlots(limit: () => number, maxQueued: number): Slots {
  const front = new Set<() => void>();
  const back = new Set<() => void>();
  let taken = 0;

  const admit = (): void => {
    for (const queue of [front, back]) {
      for (const wake of queue) {
        if (taken >= limit()) return;
        queue.delete(wake);
        taken += 1;
        wake();
      }
    }
  };

  return {
    admit,
    async enter(patience, place = "back") {
      if (patience.reached()) return "aborted";
      const isNext = front.size === 0 && (place === "front" || back.size === 0);
      if (isNext && taken < limit()) {
        taken += 1;
        return "entered";
      }
      if (front.size + back.size >= maxQueued) return "full";
      return new Promise((resolve) => {
        const queue = place === "front" ? front : back;
        const wake = (): void => {
          release();
          resolve("entered");
        };
        queue.add(wake);
        const release = patience.onReached(() => {
          queue.delete(wake);
          resolve("aborted");
        });
      });
    },
    leave() {
      taken -= 1;
      admit();
    },
  };
}
