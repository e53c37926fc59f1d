/** The parts of an account's quotas that calls in progress may spend. */
export interface Shares {
  /** Opens a call's share and returns a function that closes it. */
  enter(share: number): () => void;
  /**
   * Returns the part that they may spend together, at most 1. Without a call in progress the last sum stays.
   */
  getCurrent(): number;
}

/**
 * Creates shares with no call in progress; everything may be spent. `settle` is called before each change,
 * because tokens so far accrued at the old sum.
 */
export function createShares(settle: () => void): Shares {
  const shares = new Map<symbol, number>();
  let current = 1;
  const change = (): void => {
    settle();
    if (shares.size === 0) return;
    const sum = [...shares.values()].reduce((total, each) => total + each, 0);
    current = Math.min(1, sum);
  };
  return {
    enter(share) {
      const key = Symbol("call");
      shares.set(key, share);
      change();
      return () => {
        shares.delete(key);
        change();
      };
    },
    getCurrent: () => current,
  };
}
