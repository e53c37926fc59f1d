import { ATTACKS, type AttackName } from "#test/hostile/attacks.ts";

/** The attacks that were seen to harm others, in the order in which they are tried. */
export const ATTACK_ROWS = [
  "page-of-empty-objects",
  "endless-continue",
  "endless-added",
  "one-byte-frames",
  "malformed-events",
  "modified-flood",
  "nested-answers",
  "silent-patches",
  "text",
  "creation-1970",
  "forged-provider-id",
  "failing-nodes",
  "slow-answers",
  "silence",
] as const satisfies readonly AttackName[];

/** All that a hostile server can do. */
export const ALL_ATTACKS = Object.keys(ATTACKS) as readonly AttackName[];

/** Whose traffic is that of a cluster that is well, as far as a relay can tell: there is nothing to name. */
const HONEST_LOOKING: readonly string[] = [
  "creation-1970",
  "forged-provider-id",
  "failing-nodes",
] satisfies AttackName[];

/** Whether pages and metrics are to name the cluster meanwhile. */
export function isSeenByTheOperator(name: string): boolean {
  return !HONEST_LOOKING.includes(name);
}
