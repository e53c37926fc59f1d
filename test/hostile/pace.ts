/** What all connections of a server may send together. */
export interface Pace {
  /** Takes the bytes; answers with the milliseconds after which more may be sent. */
  spend(bytes: number): number;
  /** Bytes so far. */
  spent(): number;
}

/** So many bytes a second, as through a network: a server on the same machine has no other bound. */
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
