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
