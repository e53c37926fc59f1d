import type { Membership } from "#relay/sharding/membership.ts";

/**
 * Creates a membership from a fixed list that every replica was started with. No replica detects that another
 * is gone.
 */
export function createStaticMembership(self: string, replicas: readonly string[]): Membership {
  const names = [...new Set(replicas)].sort();
  return {
    self,
    replicas: () => names,
    isCutOff: () => false,
    onChange: () => () => {},
    leave: () => Promise.resolve(),
  };
}
