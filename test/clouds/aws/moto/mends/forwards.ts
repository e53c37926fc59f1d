import type { Kept } from "../mend.ts";

/** Which listener forwards to which target groups: moto adds to it and never removes. */
export interface Forwards {
  set(listener: string, loadBalancer: string, groups: readonly string[]): void;
  deleteListener(listener: string): void;
  deleteLoadBalancer(loadBalancer: string): void;
  /** Returns ARNs of the target groups to which a load balancer's listeners forward. */
  groupsOf(loadBalancer: string): readonly string[];
  /** Returns ARNs of the load balancers with a listener that forwards to a target group. */
  loadBalancersOf(group: string): readonly string[];
  forget(): void;
  readonly kept: Kept;
}

export function createForwards(): Forwards {
  const byListener = new Map<string, { readonly loadBalancer: string; readonly groups: readonly string[] }>();
  return {
    set: (listener, loadBalancer, groups) => void byListener.set(listener, { loadBalancer, groups }),
    deleteListener: (listener) => void byListener.delete(listener),
    deleteLoadBalancer: (loadBalancer) => {
      for (const [listener, each] of byListener)
        if (each.loadBalancer === loadBalancer) byListener.delete(listener);
    },
    groupsOf: (loadBalancer) => [
      ...new Set(
        [...byListener.values()]
          .filter((each) => each.loadBalancer === loadBalancer)
          .flatMap((each) => each.groups),
      ),
    ],
    loadBalancersOf: (group) => [
      ...new Set(
        [...byListener.values()]
          .filter((each) => each.groups.includes(group))
          .map((each) => each.loadBalancer),
      ),
    ],
    forget: () => byListener.clear(),
    kept: byListener,
  };
}
