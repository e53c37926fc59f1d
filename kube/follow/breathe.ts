/** Work of one cluster that goes on for so long lets the others' have their turn. */
const LONGEST_TURN_MS = 5;

/** Asked between steps of a long piece of work: what is to be awaited before the next one, if others are to have their turn. */
export function createBreather(): () => Promise<void> | undefined {
  let sinceMs = performance.now();
  return () => {
    if (performance.now() - sinceMs < LONGEST_TURN_MS) return undefined;
    return new Promise((resolve) => {
      setImmediate(() => {
        sinceMs = performance.now();
        resolve();
      });
    });
  };
}
