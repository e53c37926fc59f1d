import type { ActionCall } from "#clouds/cloud.ts";

/** A budget with shares for calls. */
interface Shared {
  /** Opens a call's share and returns a function that closes it. */
  enter(share: number): () => void;
}

/**
 * Opens a call's share of the budget and returns a function that closes it. Questions and actions of one
 * invocation have one signal and count as one share, however many are in progress.
 */
export function createInvocationShares(budget: Shared): (call: ActionCall) => () => void {
  const inside = new Map<AbortSignal, { readonly leave: () => void; calls: number }>();
  return ({ signal, share }) => {
    const invocation = inside.get(signal) ?? { leave: budget.enter(share), calls: 0 };
    inside.set(signal, invocation);
    invocation.calls += 1;
    return () => {
      invocation.calls -= 1;
      if (invocation.calls > 0) return;
      inside.delete(signal);
      invocation.leave();
    };
  };
}

/** The parts of an account's quotas that calls in progress may spend. */
interface Shares {
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
