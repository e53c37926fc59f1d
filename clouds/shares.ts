/** The parts of an account's quotas that the calls in progress were promised. */
export interface Shares {
  /** Opens a call's share; returns what closes it. */
  enter(share: number): () => void;
  /** What they may spend together, at most all of it. With no call in progress the last sum goes on. */
  current(): number;
}

/** No call is in progress yet, and all may be spent. `settle` is called before each change: what accrued so far did so at the old sum. */
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
    current: () => current,
  };
}
