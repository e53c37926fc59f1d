/** What is known of something that has ended, to tell which of many are worth to be kept. */
interface Ended {
  readonly durationMs: number;
  readonly error?: string | undefined;
}

/** The most telling of what has ended. */
export interface Slowest<T> {
  add(ended: T): void;
  /** In the order of their coming. */
  kept(): readonly T[];
  /** How many were left out. */
  leftOut(): number;
}

/** Keeps so many of what has ended: what failed before what did not, and of these the slowest. */
export function keepSlowest<T extends Ended>(most: number): Slowest<T> {
  let kept: T[] = [];
  let leftOut = 0;
  return {
    add(ended) {
      kept.push(ended);
      if (kept.length <= most) return;
      const least = kept.reduce((one, other) => (isLess(other, one) ? other : one));
      kept = kept.filter((each) => each !== least);
      leftOut += 1;
    },
    kept: () => kept,
    leftOut: () => leftOut,
  };
}

function isLess(one: Ended, other: Ended): boolean {
  const [failed, otherFailed] = [one.error !== undefined, other.error !== undefined];
  return failed === otherFailed ? one.durationMs < other.durationMs : !failed;
}
