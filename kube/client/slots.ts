import type { TimeLimit } from "#kube/client/time-limit.ts";

/** A bound on what goes on at the same time, with a bounded queue in front of it, first come first served. */
export interface Slots {
  /** Resolves with a slot, or says why there is none. */
  enter(time: TimeLimit): Promise<"entered" | "aborted" | "full">;
  leave(): void;
}

/** `limit` is asked for each time, as it may change; at most `maxQueued` wait. */
export function createSlots(limit: () => number, maxQueued: number): Slots {
  const waiting = new Set<() => void>();
  let taken = 0;

  const admit = (): void => {
    for (const wake of waiting) {
      if (taken >= Math.max(1, limit())) return;
      waiting.delete(wake);
      taken += 1;
      wake();
    }
  };

  return {
    async enter(time) {
      if (time.reached()) return "aborted";
      if (taken < Math.max(1, limit()) && waiting.size === 0) {
        taken += 1;
        return "entered";
      }
      if (waiting.size >= maxQueued) return "full";
      return new Promise((resolve) => {
        const wake = (): void => {
          release();
          resolve("entered");
        };
        waiting.add(wake);
        const release = time.onReached(() => {
          waiting.delete(wake);
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
