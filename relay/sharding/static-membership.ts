import type { Membership } from "#relay/sharding/membership.ts";

/** Replicas by a list that everybody was started with: nobody finds out that one of them is gone. */
export function staticMembership(self: string, replicas: readonly string[]): Membership {
  const names = [...new Set(replicas)].sort();
  return {
    self,
    replicas: () => names,
    isCutOff: () => false,
    onChange: () => () => {},
    leave: () => Promise.resolve(),
  };
}
