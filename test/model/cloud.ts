import type { Capability } from "#clouds/cloud.ts";
import type { ClusterView } from "./cluster.ts";

/**
 * A cloud in a history. Actors reach its capabilities through the network, which decides when a request is
 * carried out.
 */
export interface ModelCloud {
  readonly capabilities: Readonly<Record<string, Capability>>;
  /** Provider IDs of the machines that nodes may be on, `MACHINE_COUNT` of them and one of the lasting node. */
  readonly providerIDs: readonly string[];
  /** Terminates the machine. Undefined if the controller never reads machines. */
  endMachine?(machine: number): void;
  /** Whether the machine has not ended; if undefined, no machine ends. */
  hasMachine?(providerID: string): boolean;
  /** Another user creates a resource, named after the number. */
  addForeign(number: number): void | Promise<void>;
  /**
   * Another user changes one of our resources by hand; the number selects the resource and the change.
   * Returns undefined if there is nothing to change.
   */
  drift(number: number): string | undefined | Promise<string | undefined>;
  /** Returns the complete state of all foreign resources, so that any change is visible. */
  foreign(): readonly string[] | Promise<readonly string[]>;
  /**
   * Returns all resources in the account, sorted, with names in place of ids. Accounts with the same
   * resources are equal.
   */
  outline(view: ClusterView): readonly string[] | Promise<readonly string[]>;
}

/** The usage that the network needs with each action. */
export const NO_USAGE = { calls: {}, throttled: 0, waitedMs: 0 } as const;

/**
 * The prefix of outline lines for resources that several objects share. The last user leaves such a resource
 * to its own audit.
 */
export const SHARED = "shared: ";
