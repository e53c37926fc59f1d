/** A limit on concurrent work with a bounded queue. */
export interface Semaphore {
  /**
   * Resolves with a permit, or with the reason of a refusal. Waiters at the front come first, each group in order
   * of arrival.
   */
  acquire(patience: WaitLimit, place?: "front" | "back"): Promise<"entered" | "aborted" | "full">;
  /** Releases a permit; call it exactly once for each. */
  release(): void;
  /** Call it after the limit has grown other than by `release`. */
  admit(): void;
}

/** The limit of a wait: a time limit or a signal (`createAbortPatience`). */
export interface WaitLimit {
  reached(): boolean;
  /**
   * Calls the listener when the limit is reached, or at once if it already is; returns a function that
   * removes it.
   */
  onReached(listener: () => void): () => void;
}

/** Waits without a limit. */
export const NO_LIMIT: WaitLimit = { reached: () => false, onReached: () => () => {} };

/** Processes the items in order with bounded concurrency; each result resolves or rejects separately. */
export function startAtMost<Item, Result>(
  most: number,
  items: readonly Item[],
  act: (item: Item) => Promise<Result>,
): readonly Promise<Result>[] {
  const semaphore = createSemaphore(() => most, items.length);
  return items.map(async (item) => {
    await semaphore.acquire(NO_LIMIT);
    try {
      return await act(item);
    } finally {
      semaphore.release();
    }
  });
}

/**
 * Creates a semaphore. `limit` is called each time, because it may change: 0 blocks new permits and keeps
 * existing ones. At most `maxQueued` wait.
 */
export function createSemaphore(limit: () => number, maxQueued: number): Semaphore {
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
    async acquire(patience, place = "back") {
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
    release() {
      taken -= 1;
      admit();
    },
  };
}
