import type { ServiceTraits } from "#test/clouds/load-balancer-world.ts";
import type { Stage } from "#test/killing/stage.ts";

/**
 * Rows that need something not every cloud has: nodes as targets, addresses in the status that are the cloud's, source ranges, UDP, names
 * that somebody else can have taken, settings that are changed in place, several clusters in one account, load balancers that no annotation hands to
 * another Service, machines that the cloud tells to be somebody else's, and what the cloud holds for all Services in one list.
 */
export type OptionalRow =
  | "targets"
  | "address"
  | "source-ranges"
  | "udp"
  | "taken-names"
  | "other-settings"
  | "clusters"
  | "claims"
  | "machines"
  | "orphans";

/** What rows are played with. */
export interface Rows {
  stage(): Stage;
  /** All there was in the cloud before the row. */
  base(): readonly string[];
  /** Makes a Service, `web` without a name, and its load balancer; all there is then. */
  made(traits?: ServiceTraits & { readonly name?: string }): Promise<readonly string[]>;
  /** Merges into the Service `web`; all there is once that is done. */
  merged(difference: object): Promise<readonly string[]>;
  /** Merges into the Service `web`; all there is before an audit has looked at what load balancers share. */
  changed(difference: object): Promise<readonly string[]>;
  /** All there is once nothing is left to be done for these Services, `web` without any. */
  settled(names?: readonly string[]): Promise<readonly string[]>;
  /** A row, or one that is skipped with the reason in its name. */
  optional(row: OptionalRow, title: string, body: () => Promise<void>): void;
}

/** An event about the Service `web`. */
export const WEB = { cloud: {}, names: ["web"] };
