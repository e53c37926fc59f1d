import type { ServiceTraits } from "#test/clouds/load-balancer-world.ts";
import type { Stage } from "#test/crash-consistency/stage.ts";

/**
 * Rows that need what some clouds lack: nodes as targets, status addresses of the cloud, source ranges, UDP,
 * names that others can take, and settings changed in place. Others need several clusters in one account,
 * load balancers that no annotation gives to another Service; machines that the cloud reports as foreign, and
 * one list of all Services' resources.
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

/** What the rows work with. */
export interface Rows {
  stage(): Stage;
  /** Returns everything in the cloud before the row. */
  base(): readonly string[];
  /** Makes a Service (default: `web`) and its load balancer; returns everything in the cloud then. */
  made(traits?: ServiceTraits & { readonly name?: string }): Promise<readonly string[]>;
  /** Merges into the Service `web`; returns everything in the cloud afterwards. */
  merged(difference: object): Promise<readonly string[]>;
  /** Merges into the Service `web`; returns everything in the cloud before an audit of shared resources. */
  changed(difference: object): Promise<readonly string[]>;
  /** Returns everything in the cloud once these Services (default: `web`) are settled. */
  settled(names?: readonly string[]): Promise<readonly string[]>;
  /** Adds a row, or a skipped one with the reason in its name. */
  optional(row: OptionalRow, title: string, body: () => Promise<void>): void;
}

/** An event about the Service `web`. */
export const WEB = { cloud: {}, names: ["web"] };
