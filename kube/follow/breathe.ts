/** Work of one cluster that goes on for so long lets the others' have their turn; a list of a thousand objects is taken in one. */
const LONGEST_TURN_MS = 20;

/** Asked between steps of a long piece of work: what is to be awaited before the next one, if others are to have their turn. */
export function createBreather(): () => Promise<void> | undefined {
  /** When the turn of the event loop began, as far as this work is concerned; undefined where it has done nothing in it yet. */
  let sinceMs: number | undefined;
  return () => {
    if (sinceMs === undefined) {
      sinceMs = performance.now();
      setImmediate(() => {
        sinceMs = undefined;
      });
    }
    if (performance.now() - sinceMs < LONGEST_TURN_MS) return undefined;
    return new Promise((resolve) => setImmediate(resolve));
  };
}
