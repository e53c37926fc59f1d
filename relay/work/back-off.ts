/**
 * Returns a back-off with full jitter over 250 ms … 30 s, doubled with every failure in a row; `random` is
 * uniform in [0, 1).
 */
export function getBackOffMs(failures: number, random: () => number): number {
  const ceiling = Math.min(LONGEST_MS, SHORTEST_MS * 2 ** Math.min(failures, 20));
  return SHORTEST_MS + random() * (ceiling - SHORTEST_MS);
}

const SHORTEST_MS = 250;
const LONGEST_MS = 30_000;
