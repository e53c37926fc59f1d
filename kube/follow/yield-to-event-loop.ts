/**
 * Milliseconds that one cluster's work may block the others; a list of a thousand objects is processed
 * without a break.
 */
const MAX_BLOCK_MS = 20;

/**
 * Creates a function for long work to call between steps; it returns a promise to await if others should run,
 * or undefined.
 */
export function createYieldToEventLoop(): () => Promise<void> | undefined {
  /** When this work first ran in the current turn of the event loop; undefined if it has not. */
  let sinceMs: number | undefined;
  return () => {
    if (sinceMs === undefined) {
      sinceMs = performance.now();
      setImmediate(() => {
        sinceMs = undefined;
      });
    }
    if (performance.now() - sinceMs < MAX_BLOCK_MS) return undefined;
    return new Promise((resolve) => setImmediate(resolve));
  };
}
