import type { Capability } from "#clouds/cloud.ts";
import type { ClusterView } from "./cluster.ts";

/** A cloud as a history has it. Actors reach its capabilities through the network, which decides when a request is carried out. */
export interface ModelCloud {
  readonly capabilities: Readonly<Record<string, Capability>>;
  /** Provider IDs of the machines that nodes may be on, `MACHINE_COUNT` of them and one of the lasting node. */
  readonly providerIDs: readonly string[];
  /** The machine ends for good. Absent if the controller never asks for machines. */
  endMachine?(machine: number): void;
  /** Whether the machine has not ended; so without it. */
  hasMachine?(providerID: string): boolean;
  /** Somebody else creates something of their own, named after the number. */
  addForeign(number: number): void | Promise<void>;
  /** Somebody changes something that is ours by hand; which thing and how follow from the number. Undefined if there is nothing to change. */
  drift(number: number): string | undefined | Promise<string | undefined>;
  /** Everything that is not ours, as it is, so that any change of it shows. */
  foreign(): readonly string[] | Promise<readonly string[]>;
  /** Everything in the account, sorted, with names in place of ids, so that two accounts with the same things are equal. */
  outline(view: ClusterView): readonly string[] | Promise<readonly string[]>;
}

/** What the network needs to know of an action. */
export const NO_USAGE = { calls: {}, throttled: 0, waitedMs: 0 } as const;

/** How a line of an outline begins whose thing several objects share: the last user leaves it to an audit of its own. */
export const SHARED = "shared: ";
