import type { Gate, GateRequest, InvocationEnd } from "#relay/delivery/gate.ts";

/** A gate with so many places, and what became of each. */
export interface FakeGate extends Gate {
  places: number;
  spacing: number;
  /** Who waits. */
  waiting(): number;
  readonly entered: readonly GateRequest[];
  readonly ended: readonly InvocationEnd[];
  readonly left: () => number;
}

/** Creates it; places that come back are given to those who wait. */
export function createFakeGate(places: number): FakeGate {
  const queue = new Set<() => void>();
  const entered: GateRequest[] = [];
  const ended: InvocationEnd[] = [];
  let left = 0;
  const free = (): void => {
    gate.places += 1;
    const [next] = queue;
    if (next === undefined) return;
    queue.delete(next);
    next();
  };
  const gate: FakeGate = {
    places,
    spacing: 0,
    waiting: () => queue.size,
    entered,
    ended,
    left: () => left,
    spacingMs: () => gate.spacing,
    forget: (waiter) => void queue.delete(waiter),
    enter(request, waiter) {
      if (gate.places === 0) {
        queue.add(waiter);
        return undefined;
      }
      gate.places -= 1;
      entered.push(request);
      return {
        share: 0.25,
        accountClusters: 3,
        leave() {
          left += 1;
          free();
        },
        ended(end) {
          ended.push(end);
          free();
        },
      };
    },
  };
  return gate;
}
