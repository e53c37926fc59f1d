import { ATTACKS, type AttackName } from "#test/adversarial/attacks.ts";

/** The attacks that have harmed others (seen), in the order of their rows. */
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

/** All attacks of a hostile server. */
export const ALL_ATTACKS = Object.keys(ATTACKS) as readonly AttackName[];

/** Attacks whose traffic looks like a healthy cluster's to a relay: there is nothing to report. */
const HONEST_LOOKING: readonly string[] = [
  "creation-1970",
  "forged-provider-id",
  "failing-nodes",
] satisfies AttackName[];

/** Returns whether pages and metrics must name the cluster during the attack. */
export function isSeenByTheOperator(name: string): boolean {
  return !HONEST_LOOKING.includes(name);
}
