/**
 * Returns a back-off with full jitter over 250 ms … 30 s, doubled with every failure in a row; `random` is
 * uniform in [0, 1).
 */
export function getBackOffMs(failures: number, random: () => number): number {
  const ceiling = Math.min(MAX_BACK_OFF_MS, MIN_BACK_OFF_MS * 2 ** Math.min(failures, 20));
  return MIN_BACK_OFF_MS + random() * (ceiling - MIN_BACK_OFF_MS);
}

const MIN_BACK_OFF_MS = 250;
const MAX_BACK_OFF_MS = 30_000;
