import type { InvocationEnd, InvocationLimiter, PermitRequest } from "#relay/delivery/invocation-limiter.ts";

/** An invocation limiter with a fixed number of permits, and a record of each. */
export interface FakeLimiter extends InvocationLimiter {
  places: number;
  spacing: number;
  /** Returns the number of waiters. */
  waiting(): number;
  readonly entered: readonly PermitRequest[];
  readonly ended: readonly InvocationEnd[];
  readonly left: () => number;
}

/** Creates the limiter; returned permits go to waiters. */
export function createFakeLimiter(places: number): FakeLimiter {
  const queue = new Set<() => void>();
  const entered: PermitRequest[] = [];
  const ended: InvocationEnd[] = [];
  let left = 0;
  const free = (): void => {
    limiter.places += 1;
    const [next] = queue;
    if (next === undefined) return;
    queue.delete(next);
    next();
  };
  const limiter: FakeLimiter = {
    places,
    spacing: 0,
    waiting: () => queue.size,
    entered,
    ended,
    left: () => left,
    spacingMs: () => limiter.spacing,
    forget: (waiter) => void queue.delete(waiter),
    enter(request, waiter) {
      if (limiter.places === 0) {
        queue.add(waiter);
        return undefined;
      }
      limiter.places -= 1;
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
  return limiter;
}
