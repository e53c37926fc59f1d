/** An ended item, with the facts that decide whether it is kept. */
interface EndedItem {
  readonly durationMs: number;
  readonly error?: string | undefined;
}

/** The most informative of the ended items. */
export interface Slowest<T> {
  add(ended: T): void;
  /** Returns the kept items in order of arrival. */
  kept(): readonly T[];
  /** Returns the number of items left out. */
  leftOut(): number;
}

/** Keeps a limited number of ended items: failed ones first, then the slowest. */
export function keepSlowest<T extends EndedItem>(most: number): Slowest<T> {
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

function isLess(one: EndedItem, other: EndedItem): boolean {
  const [failed, otherFailed] = [one.error !== undefined, other.error !== undefined];
  return failed === otherFailed ? one.durationMs < other.durationMs : !failed;
}
