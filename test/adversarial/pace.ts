/** The common limit of all connections of a server. */
export interface Pace {
  /** Spends the bytes; returns the milliseconds after which more may be sent. */
  spend(bytes: number): number;
  /** Returns the bytes so far. */
  spent(): number;
}

/** Limits to so many bytes a second, as a network does: a server on the same machine has no other limit. */
export function createPace(bytesPerSecond: number): Pace {
  let freeAtMs = 0;
  let spent = 0;
  return {
    spend(bytes) {
      const nowMs = performance.now();
      spent += bytes;
      freeAtMs = Math.max(freeAtMs, nowMs) + (bytes / bytesPerSecond) * 1000;
      return freeAtMs - nowMs;
    },
    spent: () => spent,
  };
}
