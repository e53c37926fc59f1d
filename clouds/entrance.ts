import type { ActionCall } from "#clouds/cloud.ts";

/** A budget of which calls have shares. */
interface Shared {
  /** Opens a call's share; returns what closes it. */
  enter(share: number): () => void;
}

/**
 * Opens a call's share of the budget; returns what closes it. The questions and actions of one invocation have one signal, and
 * together its share once, however many of them are under way at a time.
 */
export function createEntrance(budget: Shared): (call: ActionCall) => () => void {
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
