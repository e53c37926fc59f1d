/** The bounds of an exponential back-off, in milliseconds. */
export interface BackOff {
  readonly baseMs: number;
  readonly limitMs: number;
}

/** Returns the base, doubled this many times, up to the limit. The caller adds its own jitter. */
export function getBackOffMs({ baseMs, limitMs }: BackOff, doublings: number): number {
  return Math.min(limitMs, baseMs * 2 ** Math.min(doublings, MAX_DOUBLINGS));
}

/** Keeps the power finite, however often something fails. */
const MAX_DOUBLINGS = 20;
